/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for prefetch: GROUP records are given out, and as many are looked at ahead; the storage answers at once.
 * VARIANT: prefetcher, or upstream, which keeps its filters as upstream does. SHAPE:
 *   window N    N references are looked at ahead, an eighth of them not in a buffer
 *   filters N   N filters stand: of each GROUP records all but one create a relation, and one has a block of one of them
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP = 5, MOST = 4096, RECORDS = 4 * MOST, RELATION = 16384 };

static pgq_prefetch prefetch;
static pgq_prefetch_entry entries[4 * PGQ_PREFETCH_MAX_CONCURRENCY + 1];
static const pgq_prefetch_record *queue[RECORDS];
static pgq_prefetch_filter filters[4 * MOST];
static pgq_prefetch_record records[RECORDS];
static pgq_prefetch_block blocks[RECORDS];
static uint64_t read_up_to;
static size_t n;
static bool creating;

/* The records are used in turn: one comes again when it has long been replayed. */
static const pgq_prefetch_record *read_ahead(void *arg, size_t queued, bool nonblocking)
{
    uint64_t i = read_up_to++;
    pgq_prefetch_record *record = &records[i % RECORDS];
    pgq_prefetch_block *block = &blocks[i % RECORDS];

    (void)arg, (void)queued, (void)nonblocking;
    *record = (pgq_prefetch_record){.lsn = 100 + i, .next_lsn = 101 + i, .blocks = block};
    *block = (pgq_prefetch_block){
        .relation = {1663, 5, RELATION}, .block = (uint32_t)subject_random(), .in_use = true};
    if (creating && i % GROUP != 0) {
        record->effect = PGQ_PREFETCH_EFFECT_CREATE;
        record->relation = (pgq_prefetch_relation){1663, 5, RELATION + (uint32_t)i};
    } else {
        record->block_count = 1;
        if (creating)
            block->relation.number += (uint32_t)(i - 1 - subject_random() % (i < n ? i + 1 : n));
    }
    return record;
}

static int64_t count_blocks(void *arg, const pgq_prefetch_relation *relation)
{
    (void)arg, (void)relation;
    return INT64_C(1) << 32;
}

static int64_t buffer(void *arg, const pgq_prefetch_relation *relation, uint32_t block)
{
    (void)arg, (void)relation;
    return !creating && block % 8 == 0 ? -1 : (int64_t)block;
}

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 2)
        return false;
    creating = strcmp(shape[0], "filters") == 0;
    n = strtoul(shape[1], NULL, 10);
    if (strcmp(variant, "upstream") == 0)
        prefetch.upstream = pgq_prefetch_upstream_make();
    prefetch.entries = entries;
    prefetch.entry_space = sizeof entries / sizeof *entries;
    prefetch.queue = queue;
    prefetch.queue_space = RECORDS; /* never full: look-ahead would stop until all of it is replayed */
    prefetch.filters = filters;
    prefetch.filter_space = 4 * n;
    /* Look-ahead ends by the number of references: four for each I/O that may be under way. */
    uint32_t window = (uint32_t)(creating ? n / (GROUP - 1) : n);
    return window >= 4 && n <= MOST && pgq_prefetch_begin(&prefetch, window / 4, 100).code == PGQ_OK;
}

static bool run(void)
{
    const pgq_prefetch_world world = {NULL, read_ahead, count_blocks, buffer, NULL};
    const pgq_prefetch_record *record = NULL;
    bool good = true;

    for (int i = 0; i < GROUP; i++)
        good &= pgq_prefetch_read(&prefetch, &world, &record).code == PGQ_OK && record != NULL;
    return good;
}

bool subject_warm_up(void)
{
    bool good = true;

    for (size_t i = 0; i < 2 * n; i++)
        good &= run();
    return good;
}

void subject_next(void) {}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
