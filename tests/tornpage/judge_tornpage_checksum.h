/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `tornpage_checksum`: see tools/judge/inputs.h. */
#include "../tools/judge/inputs.h"

#include <stdio.h>

#define ANY_BYTES 0 /* the pages */
enum { LENT_MOST = 2, SMALLEST = 1024, SIZES = 6 };
static unsigned long checksummed, refused_calls;

static bool is_sound(const arguments *a)
{
    bool size_is = a->block_size >= SMALLEST && a->block_size <= SMALLEST << (SIZES - 1) &&
                   (a->block_size & (a->block_size - 1)) == 0;

    return size_is && a->count <= UINT32_MAX - (uint64_t)a->first_block && a->pages != NULL &&
           a->checksums != NULL;
}

static void stage(judge_host *host, void *there)
{
    arguments *a = there;

    if (is_sound(a)) {
        judge_show(host, &a->pages, a->count * a->block_size, 1);
        judge_lend(host, &a->checksums, a->count * sizeof *a->checksums, 2);
    } else {
        judge_forbid(host, &a->pages);
        judge_forbid(host, &a->checksums);
    }
}

/* Pages of few words that differ, of runs, or of any. A word of three counts is the block's number: of every size. */
static void fill(inputs *in, arguments *a)
{
    const bool many = in->n < 0 && one_in(in, 1 << 15);

    a->block_size = in->percent >= 0 ? 8192 : (size_t)SMALLEST << below(in, many || below(in, 8) ? 1 : SIZES);
    a->count = in->n >= 0 ? (size_t)in->n
               : many     ? (1 << 16) + below(in, 9)
                          : 1 + below(in, one_in(in, 16) ? 9 : 2);
    a->first_block = (uint32_t)edge(in, 32);
    if (a->count > UINT32_MAX - a->first_block)
        a->first_block -= (uint32_t)a->count;
    size_t size = a->count * a->block_size;
    uint64_t *words = take(in, size), dense = below(in, 3);
    uint64_t word = judge_random(&in->random);
    for (size_t i = 0; i < size / 8; i++)
        words[i] = dense == 0   ? (i & 127) == 5 ? judge_random(&in->random) : 0
                   : dense == 1 ? word
                                : judge_random(&in->random);
    words[below(in, size / 8)] ^= edge(in, 64);
    a->pages = words;
    a->checksums = take(in, a->count * sizeof *a->checksums);
    memset(a->checksums, one_in(in, 2) ? 0x5a : (int)below(in, 256), a->count * sizeof *a->checksums);
    if (odd(in)) {
        switch (below(in, 4)) {
        case 0:
            a->pages = NULL;
            break;
        case 1:
            a->checksums = NULL;
            break;
        case 2:
            a->block_size += 1 + below(in, 500);
            break;
        default:
            a->first_block = UINT32_MAX;
            break;
        }
    }
}

static void settle(arguments *a, char *const lent[], const size_t size[])
{
    (void)a, (void)lent, (void)size;
}

static void tally(const arguments *a)
{
    refused_calls += a->result.code != PGQ_OK;
    checksummed += a->result.code == PGQ_OK ? a->count : 0;
}

static void print_tally(void)
{
    printf("tally: checksummed=%lu refused=%lu\n", checksummed, refused_calls);
}
