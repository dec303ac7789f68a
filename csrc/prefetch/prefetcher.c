/* SPDX-License-Identifier: PostgreSQL */
/* XLogPrefetcherReadRecord and XLogPrefetcherNextBlock, with the decode queue. ref/prefetch.py has each step's meaning. */
#include "common/holds.h"
#include "common/outcome.h"
#include "prefetch/filters.h"
#include "prefetch/prefetch.h"
#include "prefetch/ring.h"

#include <string.h>

/* What looking at the next block reference came to: LsnReadQueueNextStatus, and a refusal. */
typedef enum answer { IO, NO_IO, NO_ENTRY, AGAIN, REFUSED } answer;

/* A look at a block reference: the LSN is its record's, for IO and NO_IO; the code is for REFUSED. */
typedef struct look {
    answer answer;
    pgq_code code;
    uint64_t lsn;
} look;

static look looked(answer answer, uint64_t lsn)
{
    return (look){answer, PGQ_OK, lsn};
}

static look refuses(pgq_code code)
{
    return (look){REFUSED, code, 0};
}

/* ---- the repeat window ---- */

static bool is_recent(const pgq_prefetch *p, pgq_prefetch_relation relation, uint32_t block)
{
    for (uint32_t i = 0; i < PGQ_PREFETCH_REPEAT_WINDOW && i < p->recent_count; i++)
        if (p->recent_blocks[i] == block && p->recent_relations[i].number == relation.number &&
            p->recent_relations[i].database == relation.database &&
            p->recent_relations[i].tablespace == relation.tablespace)
            return true;
    return false;
}

static void remember(pgq_prefetch *p, pgq_prefetch_relation relation, uint32_t block)
{
    uint32_t slot = p->recent_count % PGQ_PREFETCH_REPEAT_WINDOW;

    p->recent_relations[slot] = relation;
    p->recent_blocks[slot] = block;
    p->recent_count++;
    if (p->recent_count == 0)
        p->recent_count = PGQ_PREFETCH_REPEAT_WINDOW;
}

/* ---- one block reference ---- */

/* What the storage says about a block that nothing else has judged. *buffer becomes that of a hit. */
static pgq_code ask_storage(pgq_prefetch *p, const pgq_prefetch_world *world, const pgq_prefetch_block *block,
                            pgq_prefetch_what *what, int64_t *buffer)
{
    int64_t blocks = world->blocks(world->arg, &block->relation), found;

    if (blocks <= (int64_t)block->block) {
        if (!pgq_prefetch_filters_add(p, block->relation, blocks < 0 ? 0 : block->block, p->at->lsn))
            return PGQ_PREFETCH_FILTERS;
        *what = PGQ_PREFETCH_WHAT_SKIP_NEW;
    } else {
        found = world->buffer(world->arg, &block->relation, block->block);
        if (found < -1)
            return PGQ_PREFETCH_GONE;
        *buffer = found;
        *what = found >= 0     ? PGQ_PREFETCH_WHAT_HIT
                : p->io_direct ? PGQ_PREFETCH_WHAT_DIRECT
                               : PGQ_PREFETCH_WHAT_PREFETCH;
    }
    remember(p, block->relation, block->block);
    return PGQ_OK;
}

/* What becomes of one reference. The order of the questions is upstream's. A refusal changes nothing. */
static pgq_code judge(pgq_prefetch *p, const pgq_prefetch_world *world, const pgq_prefetch_block *block,
                      pgq_prefetch_what *what, int64_t *buffer)
{
    if (block->fork != 0)
        *what = PGQ_PREFETCH_WHAT_OTHER_FORK;
    else if (block->has_image)
        *what = PGQ_PREFETCH_WHAT_SKIP_FPW;
    else if (block->will_init)
        *what = PGQ_PREFETCH_WHAT_SKIP_INIT;
    else if (filters_hide(p, block->relation, block->block))
        *what = PGQ_PREFETCH_WHAT_SKIP_NEW;
    else if (is_recent(p, block->relation, block->block))
        *what = PGQ_PREFETCH_WHAT_SKIP_REP;
    else
        return ask_storage(p, world, block, what, buffer);
    return PGQ_OK;
}

/* Judges block number at_block of the record that is being looked at, and goes on to the next one. */
static look look_at_block(pgq_prefetch *p, const pgq_prefetch_world *world)
{
    pgq_prefetch_event event = {.index = p->at_block, .record = p->at, .buffer = -1};
    pgq_code code = judge(p, world, &p->at->blocks[p->at_block], &event.what, &event.buffer);

    if (code != PGQ_OK)
        return refuses(code);
    p->at_block++;
    p->counters[event.what]++;
    if (world->event != NULL)
        world->event(world->arg, &event);
    return looked(event.what == PGQ_PREFETCH_WHAT_PREFETCH ? IO
                  : event.what == PGQ_PREFETCH_WHAT_DIRECT ? NO_ENTRY
                                                           : NO_IO,
                  p->at->lsn);
}

/* The same for a block that may not be in use. */
static look next_block(pgq_prefetch *p, const pgq_prefetch_world *world)
{
    if (p->at->blocks[p->at_block].in_use)
        return look_at_block(p, world);
    p->at_block++;
    return looked(NO_ENTRY, 0);
}

/* ---- records ---- */

/* What the record will create or truncate does not exist before; what may change the timeline suspends look-ahead. */
static bool note_effect(pgq_prefetch *p, const pgq_prefetch_record *record)
{
    switch (record->effect) {
    case PGQ_PREFETCH_EFFECT_CREATE:
        return pgq_prefetch_filters_add(p, record->relation, 0, record->lsn);
    case PGQ_PREFETCH_EFFECT_TRUNCATE:
        return pgq_prefetch_filters_add(p, record->relation, record->block, record->lsn);
    case PGQ_PREFETCH_EFFECT_CREATE_DATABASE:
        return pgq_prefetch_filters_add(p, (pgq_prefetch_relation){0, record->relation.database, 0}, 0,
                                        record->lsn);
    case PGQ_PREFETCH_EFFECT_TIMELINE:
        p->no_readahead_until = record->lsn;
        return true;
    case PGQ_PREFETCH_EFFECT_NONE:
        return true;
    }
    return true;
}

static void enqueue(pgq_prefetch *p, const pgq_prefetch_record *record)
{
    size_t slot = p->queue_head + p->queued;

    HOLDS(p->queue_head < p->queue_space && p->queued < p->queue_space);
    p->queue[slot < p->queue_space ? slot : slot - p->queue_space] = record;
    p->queued++;
    p->decoded_lsn = record->lsn;
    p->decoded_up_to = record->next_lsn;
}

static const pgq_prefetch_record *dequeue(pgq_prefetch *p)
{
    const pgq_prefetch_record *record = p->queue[p->queue_head];

    p->queue_head = p->queue_head + 1 == p->queue_space ? 0 : p->queue_head + 1;
    p->queued--;
    return record;
}

/* Decodes one more record. AGAIN: there is none now, or look-ahead is suspended. NO_IO: it is queued. */
static look decode(pgq_prefetch *p, const pgq_prefetch_world *world)
{
    bool nonblocking = p->queued != 0;
    const pgq_prefetch_record *record = NULL;

    if (nonblocking && p->replaying_lsn <= p->no_readahead_until)
        return looked(AGAIN, 0);
    if (p->queued < p->queue_space)
        record = world->read_ahead(world->arg, p->queued, nonblocking);
    if (record == NULL) {
        if (nonblocking)
            p->no_readahead_until = p->decoded_lsn;
        return looked(AGAIN, 0);
    }
    if (record->lsn == 0 || record->next_lsn <= record->lsn || record->lsn < p->decoded_up_to ||
        (record->blocks == NULL && record->block_count != 0))
        return refuses(PGQ_PREFETCH_RECORD);
    enqueue(p, record);
    if (p->concurrency != 0) {
        p->at = record;
        p->at_block = 0;
        p->at_noted = false;
    }
    return looked(NO_IO, 0);
}

/* XLogPrefetcherNextBlock: looks at the next block reference in use, and decodes records as needed. */
static look look_ahead(pgq_prefetch *p, const pgq_prefetch_world *world)
{
    for (;;) {
        if (p->at == NULL) {
            look decoded = decode(p, world);

            /* With prefetching off a record was decoded, and that is all. */
            if (decoded.answer != NO_IO || p->concurrency == 0)
                return decoded;
        }
        if (!p->at_noted) {
            if (!note_effect(p, p->at))
                return refuses(PGQ_PREFETCH_FILTERS);
            p->at_noted = true;
        }
        while (p->at_block < p->at->block_count) {
            look seen = next_block(p, world);

            if (seen.answer != NO_ENTRY)
                return seen;
        }
        /* The first record after BeginRead is consumed before anything beyond it is looked at. */
        if (p->queued != 0 && p->decoded_lsn == p->begin)
            return looked(AGAIN, 0);
        p->at = NULL;
    }
}

/* lrq_prefetch: looks at block references until a limit is reached. */
static pgq_code fill_ring(pgq_prefetch *p, const pgq_prefetch_world *world)
{
    while (ring_may_look(&p->ring)) {
        look next = look_ahead(p, world);

        if (next.answer == AGAIN || next.answer == REFUSED)
            return next.code;
        ring_push(&p->ring, p->entries, next.answer == IO, next.lsn);
    }
    return PGQ_OK;
}

/* ---- the entry points ---- */

pgq_status pgq_prefetch_reconfigure(pgq_prefetch *p, uint32_t concurrency)
{
    uint32_t max_distance = concurrency == 0 ? 1 : PGQ_PREFETCH_DISTANCE_MULTIPLIER * concurrency;

    if (p == NULL || p->entries == NULL)
        return refused(PGQ_NULL, 0);
    if (concurrency > PGQ_PREFETCH_MAX_CONCURRENCY || p->entry_space < max_distance + 1)
        return refused(PGQ_PREFETCH_CONCURRENCY, 0);
    p->concurrency = concurrency;
    p->ring = ring_of(concurrency == 0 ? 1 : concurrency, max_distance);
    return accepted();
}

pgq_status pgq_prefetch_begin(pgq_prefetch *p, uint32_t concurrency, uint64_t begin)
{
    pgq_status status;

    if (p == NULL || p->queue == NULL || p->filters == NULL)
        return refused(PGQ_NULL, 0);
    if (p->queue_space < 1 || p->filter_space < 2 || p->filter_space > (size_t)1 << 31)
        return refused(PGQ_PREFETCH_SPACE, 0);
    status = pgq_prefetch_reconfigure(p, concurrency);
    if (status.code != PGQ_OK)
        return status;
    p->recent_count = 0;
    pgq_prefetch_filters_clear(p);
    memset(p->counters, 0, sizeof p->counters);
    p->wal_distance = p->show_from = 0;
    p->block_distance = p->io_depth = 0;
    return pgq_prefetch_begin_read(p, begin);
}

pgq_status pgq_prefetch_begin_read(pgq_prefetch *p, uint64_t begin)
{
    if (p == NULL || p->entries == NULL)
        return refused(PGQ_NULL, 0);
    p->begin = p->decoded_up_to = begin;
    p->queue_head = p->queued = 0;
    p->decoded_lsn = p->replaying_lsn = p->replaying_up_to = p->no_readahead_until = 0;
    p->at = NULL;
    return pgq_prefetch_reconfigure(p, p->concurrency);
}

pgq_status pgq_prefetch_show_distances(pgq_prefetch *p)
{
    uint64_t head;

    if (p == NULL || p->queue == NULL)
        return refused(PGQ_NULL, 0);
    head = p->replaying_lsn != 0 ? p->replaying_lsn : p->queued != 0 ? p->queue[p->queue_head]->lsn : 0;
    p->wal_distance = p->decoded_lsn - head;
    p->block_distance = p->ring.inflight + p->ring.completed;
    p->io_depth = p->ring.inflight;
    p->show_from = p->replaying_lsn < UINT64_MAX - PGQ_PREFETCH_STATS_DISTANCE
                       ? p->replaying_lsn + PGQ_PREFETCH_STATS_DISTANCE
                       : UINT64_MAX;
    return accepted();
}

pgq_status pgq_prefetch_read(pgq_prefetch *p, const pgq_prefetch_world *world,
                             const pgq_prefetch_record **record)
{
    const pgq_prefetch_record *given;
    pgq_code code = PGQ_OK;

    if (p == NULL || world == NULL || record == NULL || world->read_ahead == NULL || world->blocks == NULL ||
        world->buffer == NULL)
        return refused(PGQ_NULL, 0);
    /* Completion comes before look-ahead (commit adb46615): else recovery could end early. */
    filters_complete(p, p->replaying_up_to);
    HOLDS(ring_used(&p->ring) == p->ring.inflight + p->ring.completed);
    ring_complete(&p->ring, p->entries, p->replaying_up_to);
    if (p->concurrency != 0)
        code = fill_ring(p, world);
    if (code == PGQ_OK && p->queued == 0) {
        HOLDS(p->ring.head == p->ring.tail); /* without records nothing was looked at */
        code = fill_ring(p, world);
    }
    if (code != PGQ_OK)
        return refused(code, 0);
    if (p->queued == 0) {
        *record = NULL;
        return accepted();
    }
    given = dequeue(p);
    p->replaying_lsn = given->lsn;
    p->replaying_up_to = given->next_lsn;
    if (p->at == given)
        p->at = NULL; /* What was not looked at yet is forgotten. */
    if (given->lsn >= p->show_from)
        pgq_prefetch_show_distances(p);
    *record = given;
    return accepted();
}
