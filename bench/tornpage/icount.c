/* SPDX-License-Identifier: PostgreSQL */
/* What is counted for tornpage: the checksums of COUNT pages in one call. SHAPE: COUNT BLOCK_SIZE. */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8, LARGEST = 32768 };

SUBJECT_KIND(tornpage_checksum)

static pgq_tornpage_checksum_fn checksum;
static size_t count, block_size;
static uint8_t pages[MOST * LARGEST];

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 2)
        return false;
    count = strtoul(shape[0], NULL, 10);
    block_size = strtoul(shape[1], NULL, 10);
    checksum = subject_find_tornpage_checksum(variant);
    return checksum != NULL && count <= MOST && block_size <= LARGEST;
}

bool subject_warm_up(void)
{
    subject_next();
    return counted_call();
}

void subject_next(void)
{
    for (size_t i = 0; i < count * block_size; i += 8) {
        uint64_t word = subject_random();

        memcpy(pages + i, &word, sizeof word);
    }
}

__attribute__((noinline)) bool counted_call(void)
{
    uint16_t checksums[MOST];
    bool good = checksum(pages, count, block_size, 1000, checksums).code == PGQ_OK;

    __asm__ volatile("" ::: "memory");
    return good;
}
