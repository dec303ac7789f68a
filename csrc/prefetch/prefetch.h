/* SPDX-License-Identifier: PostgreSQL */
/*
 * The recovery prefetcher: which blocks are advised to the kernel, and when, while WAL is replayed.
 *
 * Upstream: src/backend/access/transam/xlogprefetcher.c and the decode queue of xlogreader.c, as of PostgreSQL 15. The
 * definition is ref/prefetch.py, and this does the same, question by question.
 *
 * LSNs are byte positions in the WAL. In the comments below the codes CONCURRENCY, SPACE, RECORD and FILTERS are short for
 * PGQ_PREFETCH_<name>.
 */
#ifndef PGQUERN_PREFETCH_H
#define PGQUERN_PREFETCH_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- what is given: the WAL and the storage ---- */

enum {
    PGQ_PREFETCH_REPEAT_WINDOW = 4,       /* XLOGPREFETCHER_SEQ_WINDOW_SIZE */
    PGQ_PREFETCH_DISTANCE_MULTIPLIER = 4, /* XLOGPREFETCHER_DISTANCE_MULTIPLIER */
    PGQ_PREFETCH_MAX_CONCURRENCY = 1000   /* MAX_IO_CONCURRENCY */
};

/* A RelFileLocator. */
typedef struct pgq_prefetch_relation {
    uint32_t tablespace, database, number;
} pgq_prefetch_relation;

/* A block that a record changes: a DecodedBkpBlock, as far as the prefetcher looks at it. */
typedef struct pgq_prefetch_block {
    pgq_prefetch_relation relation;
    uint32_t block;
    uint8_t fork; /* 0: the main fork */
    bool has_image, will_init, in_use;
} pgq_prefetch_block;

/* What a record does besides changing the blocks it references; its relation and block say to what. */
typedef enum pgq_prefetch_effect {
    PGQ_PREFETCH_EFFECT_NONE = 0,
    PGQ_PREFETCH_EFFECT_CREATE = 1,          /* XLOG_SMGR_CREATE of a main fork */
    PGQ_PREFETCH_EFFECT_TRUNCATE = 2,        /* XLOG_SMGR_TRUNCATE to `block` blocks */
    PGQ_PREFETCH_EFFECT_CREATE_DATABASE = 3, /* XLOG_DBASE_CREATE_FILE_COPY of relation.database */
    PGQ_PREFETCH_EFFECT_TIMELINE = 4         /* XLOG_CHECKPOINT_SHUTDOWN or XLOG_END_OF_RECOVERY */
} pgq_prefetch_effect;

/* A decoded WAL record, from its start to the end of what is replayed with it: 0 < lsn < next_lsn. */
typedef struct pgq_prefetch_record {
    uint64_t lsn, next_lsn;
    const pgq_prefetch_block *blocks;
    uint32_t block_count;
    pgq_prefetch_effect effect;
    pgq_prefetch_relation relation;
    uint32_t block;
} pgq_prefetch_record;

/* What became of a block reference that was looked at. The first six have a column in pg_stat_recovery_prefetch. */
typedef enum pgq_prefetch_what {
    PGQ_PREFETCH_WHAT_PREFETCH = 0, /* advise it to the kernel now */
    PGQ_PREFETCH_WHAT_HIT = 1,      /* it was in a buffer: a hint, which replay must verify */
    PGQ_PREFETCH_WHAT_SKIP_INIT = 2,
    PGQ_PREFETCH_WHAT_SKIP_NEW = 3,
    PGQ_PREFETCH_WHAT_SKIP_FPW = 4,
    PGQ_PREFETCH_WHAT_SKIP_REP = 5,
    PGQ_PREFETCH_WHAT_OTHER_FORK = 6,
    PGQ_PREFETCH_WHATS = 7
} pgq_prefetch_what;

/* buffer: where a hit is; -1 for all else. index: of the block in the record. */
typedef struct pgq_prefetch_event {
    pgq_prefetch_what what;
    uint32_t index;
    const pgq_prefetch_record *record;
    int64_t buffer;
} pgq_prefetch_event;

/*
 * What is asked of the WAL and of the storage, and what is told. All get `arg`. None may call a function on the same
 * prefetcher.
 */
typedef struct pgq_prefetch_world {
    void *arg;
    /*
     * The next record, or NULL: its bytes have not arrived, or the `queued` records leave no room to decode it. If not
     * nonblocking, it waits, and NULL is the end of the WAL. The record stays where it is until the call of
     * pgq_prefetch_read that follows the one that gives it out.
     */
    const pgq_prefetch_record *(*read_ahead)(void *arg, size_t queued, bool nonblocking);
    /* The blocks of a relation's main fork, or -1: it has no file. */
    int64_t (*blocks)(void *arg, const pgq_prefetch_relation *relation);
    /* The buffer that holds the block, at least 0, or -1: none does. */
    int64_t (*buffer)(void *arg, const pgq_prefetch_relation *relation, uint32_t block);
    /* Called for each block reference that is looked at; NULL: for none. */
    void (*event)(void *arg, const pgq_prefetch_event *event);
} pgq_prefetch_world;

/* ---- the prefetcher ---- */

/* An entry of LsnReadQueue: the start of the record, and whether an I/O was started. */
typedef struct pgq_prefetch_entry {
    uint64_t lsn;
    bool io;
} pgq_prefetch_entry;

/* LsnReadQueue. Entries are added at head and leave at tail; one slot stays empty. */
typedef struct pgq_prefetch_ring {
    uint32_t size, max_inflight;
    uint32_t head, tail;
    uint32_t inflight, completed; /* entries with an I/O, and without */
} pgq_prefetch_ring;

/* No block of `key` from from_block on exists before the record at `until` is replayed. A free slot has until 0. */
typedef struct pgq_prefetch_filter {
    pgq_prefetch_relation key; /* tablespace 0 and number 0: of a whole database */
    uint32_t from_block;
    uint64_t until;
    uint32_t older, newer; /* slot + 1 of the neighbours in the order of `until`; 0: none */
} pgq_prefetch_filter;

/*
 * To start: give it the three arrays and their sizes, and zero in all other members; then call pgq_prefetch_begin. It
 * never allocates. The other members can be read at any time, and are the prefetcher's own to change.
 */
typedef struct pgq_prefetch {
    pgq_prefetch_entry *entries; /* the ring's: 4 * concurrency + 1, and at least 2 */
    size_t entry_space;
    const pgq_prefetch_record *
        *queue; /* decoded, not yet given out: at least 1. A full queue is a full decode buffer */
    size_t queue_space;
    pgq_prefetch_filter *filters; /* a hash table, of which a slot stays free: at least 2 */
    size_t filter_space;

    uint32_t concurrency;
    uint64_t begin;
    pgq_prefetch_ring ring;
    size_t queue_head, queued;
    uint64_t decoded_lsn, decoded_up_to; /* start and end of the record that was decoded last */
    uint64_t replaying_lsn, replaying_up_to;
    uint64_t no_readahead_until;
    const pgq_prefetch_record *at; /* its blocks are being looked at, from at_block on; NULL: no record's */
    uint32_t at_block;
    bool at_noted; /* the effect of `at` is in the filters */
    uint32_t filter_count, database_filters, oldest_filter, newest_filter;
    pgq_prefetch_relation recent_relations[4]; /* the repeat window */
    uint32_t recent_blocks[4];
    uint32_t recent_count; /* blocks that entered the window, mod 2^32, but never again below 4 */
    uint64_t counters[PGQ_PREFETCH_WHATS]; /* by pgq_prefetch_what */
} pgq_prefetch;

/*
 * XLogPrefetcherAllocate and XLogPrefetcherBeginRead: starts to read the WAL at `begin`, with nothing known. concurrency is
 * maintenance_io_concurrency; 0 switches prefetching off, as recovery_prefetch = off does.
 * PGQ_NULL; SPACE: queue_space is below 1, or filter_space below 2 or above 2^31; CONCURRENCY, as pgq_prefetch_reconfigure.
 */
pgq_status pgq_prefetch_begin(pgq_prefetch *prefetch, uint32_t concurrency, uint64_t begin);

/*
 * A changed setting: the ring is made anew, so what is in flight is forgotten. Queue, window and filters stay.
 * PGQ_NULL; CONCURRENCY: above 1000, or entry_space is too small, and nothing changes.
 */
pgq_status pgq_prefetch_reconfigure(pgq_prefetch *prefetch, uint32_t concurrency);

/*
 * XLogPrefetcherReadRecord: gives out the next record to replay; *record is NULL at the end of the WAL. The record given
 * out before has been replayed by now.
 *
 * A refusal gives out no record, and loses none. What was decoded stays queued, and the next call goes on where this one
 * stopped: it looks at the same block or asks for the same record. PGQ_NULL. RECORD: read_ahead gave a record that cannot
 * follow; it is not taken. FILTERS: no filter is free. With concurrency 0 none is needed, so that replay can go on.
 */
pgq_status pgq_prefetch_read(pgq_prefetch *prefetch, const pgq_prefetch_world *world,
                             const pgq_prefetch_record **record);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
