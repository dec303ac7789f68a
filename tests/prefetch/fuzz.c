/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target. Makes WAL of any bytes, broken WAL too, and gives it to the prefetcher in as little space as the first
 * bytes say. Whatever is refused: records come out in order and whole, at most N advised blocks are unreplayed, the ring
 * counts what it holds, the filters are in their order, and outputs are untouched by a refusal. Now and then it reads on
 * behind what was decoded.
 *
 * Input: six bytes say concurrency and spaces; then records of four bytes and more, as next_record says.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 150, BLOCKS = 3, RELATIONS = 8 };

static unsigned long long done, record_refused, filters_full, space_refused, gone, begun, direct, advised;

/* How often each answer was given. The runner fails if one was never given. */
__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr,
            "tally: done=%llu RECORD=%llu FILTERS=%llu CONCURRENCY=%llu GONE=%llu begun=%llu direct=%llu "
            "advised=%llu\n",
            done, record_refused, filters_full, space_refused, gone, begun, direct, advised);
}

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz prefetch: %s\n", what);
        abort();
    }
}

/* ---- WAL of any bytes ---- */

typedef struct wal {
    const uint8_t *data;
    size_t size, at;
    uint64_t end; /* of the record that was made last */
    pgq_prefetch_record records[MOST];
    pgq_prefetch_block blocks[MOST][BLOCKS];
    bool broken[MOST]; /* cannot follow */
    size_t made, late;
    size_t given;             /* records that came out, and broken ones before them */
    size_t advised;           /* since the ring was made, of records that are not replayed yet */
    size_t advised_for[MOST]; /* by record */
    uint64_t last_given;
} wal;

static uint8_t byte(wal *w)
{
    return w->at < w->size ? w->data[w->at++] : 0;
}

static pgq_prefetch_relation relation_of(uint8_t bits)
{
    return (pgq_prefetch_relation){1663 + (bits >> 3 & 1), bits >> 2 & 1, 1 + (bits & 3)};
}

/* One byte for effect and fault, one for the effect's relation, two a block. */
static const pgq_prefetch_record *next_record(void *arg, size_t queued, bool nonblocking)
{
    wal *w = arg;
    pgq_prefetch_record *record = &w->records[w->made];
    uint8_t what = byte(w), about = byte(w);
    uint64_t start = w->end + (what >> 6 & 1);

    (void)queued;
    if (w->made == MOST || w->at >= w->size || (nonblocking && what % 13 == 12))
        return NULL;
    w->broken[w->made] = what % 29 == 28;
    record->lsn = w->broken[w->made] ? w->end - 1 - what % 3 : start;
    record->next_lsn = record->lsn + 1 + (what >> 5 & 1);
    record->effect = (pgq_prefetch_effect)(what % 5);
    record->relation = relation_of(about);
    record->block = about >> 5;
    record->block_count = about % (BLOCKS + 1);
    record->blocks = w->blocks[w->made];
    for (uint32_t i = 0; i < record->block_count; i++) {
        uint8_t bits = byte(w), flags = byte(w);

        w->blocks[w->made][i] = (pgq_prefetch_block){relation_of(bits), bits >> 4,       flags % 9 == 8,
                                                     flags >> 4 == 1,   flags >> 4 == 2, flags >> 4 != 3};
    }
    if (!w->broken[w->made])
        w->end = record->next_lsn;
    w->made++;
    return record;
}

static int64_t blocks(void *arg, const pgq_prefetch_relation *relation)
{
    (void)arg;
    return relation->number == 4 ? -1 : (int64_t)relation->number * 4;
}

static int64_t buffer(void *arg, const pgq_prefetch_relation *relation, uint32_t block)
{
    (void)arg;
    if (block == 9 && relation->tablespace == 1664)
        return -2; /* its file has gone */
    return (block + relation->number) % 3 == 0 ? (int64_t)block : -1;
}

static void event(void *arg, const pgq_prefetch_event *event)
{
    wal *w = arg;

    require(event->index < event->record->block_count, "an event about no block");
    require(event->record->lsn > w->last_given, "looked at after it was replayed");
    direct += event->what == PGQ_PREFETCH_WHAT_DIRECT;
    if (event->what == PGQ_PREFETCH_WHAT_PREFETCH) {
        const pgq_prefetch_block *block = &event->record->blocks[event->index];

        require(block->in_use && block->fork == 0 && !block->has_image && !block->will_init,
                "advised in vain");
        require((int64_t)block->block < blocks(arg, &block->relation), "advised past the end");
        w->advised++;
        w->advised_for[event->record - w->records]++;
        advised++;
    }
}

/* ---- the prefetcher ---- */

static void check_ring(const pgq_prefetch *p)
{
    uint32_t ios = 0, used = 0;

    for (uint32_t i = p->ring.tail; i != p->ring.head; i = i + 1 == p->ring.size ? 0 : i + 1) {
        ios += p->entries[i].io;
        used++;
    }
    require(ios == p->ring.inflight && used - ios == p->ring.completed, "the ring miscounts");
    require(ios <= p->ring.max_inflight && used < p->ring.size, "the ring overflows");
}

/* Upstream's table grows, so it refuses nothing. */
static void check_upstreams_filters(const pgq_prefetch *p)
{
    pgq_prefetch_filter filters[MOST * (BLOCKS + 1)];
    size_t count = pgq_prefetch_upstream_filters(p->upstream, filters, MOST * (BLOCKS + 1));

    require((p->filter_count != 0) == (count != 0), "filters miscounted");
    for (size_t i = 1; i < count; i++)
        require(filters[i - 1].until <= filters[i].until, "filters out of order");
}

static void check_filters(const pgq_prefetch *p)
{
    uint32_t linked = 0, in_slots = 0;
    uint64_t until = 0;

    if (p->upstream != NULL) {
        check_upstreams_filters(p);
        return;
    }
    for (uint32_t slot = p->oldest_filter; slot != 0; slot = p->filters[slot - 1].newer) {
        require(p->filters[slot - 1].until >= until, "filters out of order");
        until = p->filters[slot - 1].until;
        require(++linked <= p->filter_count, "filters go round");
    }
    for (size_t i = 0; i < p->filter_space; i++)
        in_slots += p->filters[i].until != 0;
    require(linked == p->filter_count && in_slots == linked && linked < p->filter_space,
            "filters miscounted");
}

/* The next record that could follow. */
static const pgq_prefetch_record *expected(wal *w)
{
    while (w->given < w->made && w->broken[w->given])
        w->given++;
    return w->given < w->made ? &w->records[w->given++] : NULL;
}

/* What is in flight is forgotten. */
static void reconfigure(wal *w, pgq_prefetch *p, uint32_t concurrency)
{
    pgq_status status = pgq_prefetch_reconfigure(p, concurrency);

    require(status.code == (p->entry_space < (size_t)4 * concurrency + 1 ? PGQ_PREFETCH_CONCURRENCY : PGQ_OK),
            "the wrong answer to a change of the concurrency");
    if (status.code == PGQ_OK) {
        w->advised = 0;
        memset(w->advised_for, 0, sizeof w->advised_for);
    }
}

/* Reads on behind all that was decoded: what is queued and in flight is forgotten. */
static void begin_read(wal *w, pgq_prefetch *p)
{
    require(pgq_prefetch_begin_read(p, w->end).code == PGQ_OK, "refused to read on");
    w->given = w->made;
    w->advised = 0;
    memset(w->advised_for, 0, sizeof w->advised_for);
    begun++;
}

static void read_all(wal *w, pgq_prefetch *p, const pgq_prefetch_world *world)
{
    static const pgq_prefetch_record untouched;
    size_t refusals = 0;

    for (;;) {
        const pgq_prefetch_record *record = &untouched;
        pgq_status status = pgq_prefetch_read(p, world, &record);

        check_ring(p);
        check_filters(p);
        if (status.code == PGQ_PREFETCH_FILTERS) {
            filters_full++;
            require(p->upstream == NULL && p->filter_count + 1 == p->filter_space && record == &untouched,
                    "refused a filter early");
            reconfigure(w, p, 0);
            continue;
        }
        if (status.code == PGQ_PREFETCH_GONE) {
            gone++;
            require(p->concurrency != 0 && record == &untouched, "missed a file without looking for it");
            reconfigure(w, p, 0);
            continue;
        }
        if (status.code == PGQ_PREFETCH_RECORD) {
            record_refused++;
            require(w->broken[w->made - 1] && record == &untouched && ++refusals <= MOST,
                    "refused a sound record");
            continue;
        }
        require(status.code == PGQ_OK, "refused for no reason");
        require(w->advised <= p->concurrency, "too many in flight");
        if (record == NULL)
            break;
        require(record == expected(w), "another record");
        w->last_given = record->lsn;
        done++;
        if (record->lsn % 37 == 36)
            reconfigure(w, p, (uint32_t)(record->lsn % 5));
        /* It is replayed now. */
        w->advised -= w->advised_for[record - w->records];
        w->advised_for[record - w->records] = 0;
        if (record->lsn % 41 == 40)
            begin_read(w, p);
    }
    require(expected(w) == NULL && p->queued == 0, "records were lost");
}

static void look_ahead(const uint8_t *data, size_t size)
{
    wal *w = calloc(1, sizeof *w);
    uint32_t concurrency = data[0] % 12, space = 1 + data[1] % 60;
    size_t queue_space = 1 + data[2] % 20, filter_space = 2 + data[3] % 12;
    pgq_prefetch p = {.entries = malloc(space * sizeof *p.entries),
                      .entry_space = space,
                      .queue = malloc(queue_space * sizeof *p.queue),
                      .queue_space = queue_space,
                      .filters = malloc(filter_space * sizeof *p.filters),
                      .filter_space = filter_space,
                      .io_direct = data[4] % 8 == 7,
                      .upstream = data[5] % 4 == 1 ? pgq_prefetch_upstream_make() : NULL};
    pgq_prefetch_world world = {w, next_record, blocks, buffer, event};
    uint64_t begin = 10 + data[4];
    pgq_status status = pgq_prefetch_begin(&p, concurrency, begin);

    w->data = data + 6;
    w->size = size - 6;
    w->end = begin;
    if (status.code == PGQ_PREFETCH_CONCURRENCY) {
        require(space < 2 || space < 4 * concurrency + 1, "refused a ring that is large enough");
        space_refused++;
    } else {
        require(status.code == PGQ_OK, "refused to begin");
        read_all(w, &p, &world);
    }
    free(p.entries);
    free(p.queue);
    free(p.filters);
    pgq_prefetch_upstream_free(p.upstream);
    free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 7)
        look_ahead(data, size);
    return 0;
}
