/* SPDX-License-Identifier: PostgreSQL */
/*
 * The recovery prefetcher: which blocks are advised to the kernel, and when, while WAL is replayed.
 *
 * Upstream: src/backend/access/transam/xlogprefetcher.c, XLogPrefetcherAllocate, XLogPrefetcherReadRecord. And the
 * decode queue of xlogreader.c, as of PostgreSQL 15, and what debug_io_direct changes in 16. The definition is ref/prefetch.py, and this does the same, question by question.
 *
 * LSNs are byte positions in the WAL. In the comments below the codes CONCURRENCY, SPACE, RECORD, FILTERS and GONE are
 * short for PGQ_PREFETCH_<name>.
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
    PGQ_PREFETCH_MAX_CONCURRENCY = 1000,  /* MAX_IO_CONCURRENCY */
    PGQ_PREFETCH_STATS_DISTANCE = 8192,   /* XLOGPREFETCHER_STATS_DISTANCE */
    PGQ_PREFETCH_RECORD_BLOCKS = 33,      /* XLR_MAX_BLOCK_ID + 1; of a record of the engine's */
    PGQ_PREFETCH_SEGMENT_BLOCKS = 131072  /* RELSEG_SIZE: 1 GiB of blocks of 8 KiB */
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
    PGQ_PREFETCH_WHAT_DIRECT = 7, /* in no buffer; with io_direct there is nothing to advise */
    PGQ_PREFETCH_WHATS = 8
} pgq_prefetch_what;

/* buffer: where a hit is; -1 for all else. index: of the block in the record. */
typedef struct pgq_prefetch_event {
    pgq_prefetch_what what;
    uint32_t index;
    const pgq_prefetch_record *record;
    int64_t buffer;
} pgq_prefetch_event;

/*
 * What is asked of the WAL and of the storage, and what is reported. All get `arg`. None may call a function on the same
 * prefetcher.
 */
typedef struct pgq_prefetch_world {
    void *arg;
    /*
     * The next record, or NULL: its bytes have not arrived, or the `queued` records leave no room to decode it. If not
     * nonblocking, it waits, and NULL is the end of the WAL. Where the WAL has an error it is NULL too, until the caller has
     * seen to it: upstream queues the error behind the records before it. The record stays where it is until the call of
     * pgq_prefetch_read that follows the one that gives it out.
     */
    const pgq_prefetch_record *(*read_ahead)(void *arg, size_t queued, bool nonblocking);
    /* The blocks of a relation's main fork, or -1: it has no file. */
    int64_t (*blocks)(void *arg, const pgq_prefetch_relation *relation);
    /* The buffer that holds the block, at least 0; or -1: none does; or -2: and it has no file any more. */
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
 * A baseline for tests and benchmarks: the filters as upstream keeps them, in a hash table of chains and a doubly linked
 * list. A prefetcher that has it as `upstream` does the same with it, and leaves its own table, which it must be given all
 * the same, empty. Allocates with
 * each filter that finds no space; FILTERS then means that there is no memory.
 */
typedef struct pgq_prefetch_upstream pgq_prefetch_upstream;

/* NULL: no memory. */
pgq_prefetch_upstream *pgq_prefetch_upstream_make(void);
void pgq_prefetch_upstream_free(pgq_prefetch_upstream *upstream); /* NULL: nothing to do */

/* Copies the filters, the one that was set first first, as far as there is space. Returns how many there are. */
size_t pgq_prefetch_upstream_filters(const pgq_prefetch_upstream *upstream, pgq_prefetch_filter *filters,
                                     size_t space);

/*
 * To start: give it the three arrays and their sizes, io_direct, and zero in all other members; then call
 * pgq_prefetch_begin. It never allocates. The other members can be read at any time, and are the prefetcher's own to change.
 */
typedef struct pgq_prefetch {
    pgq_prefetch_entry *entries; /* the ring's: 4 * concurrency + 1, and at least 2 */
    size_t entry_space;
    const pgq_prefetch_record *
        *queue; /* decoded, not yet given out: at least 1. A full queue is a full decode buffer */
    size_t queue_space;
    pgq_prefetch_filter *filters; /* a hash table, of which a slot stays free: at least 2 */
    size_t filter_space;
    bool
        io_direct; /* debug_io_direct has `data`: files are read past the kernel's cache, so nothing is advised */
    pgq_prefetch_upstream *upstream; /* NULL: the filters are in `filters` */

    uint32_t concurrency;
    uint64_t begin;
    pgq_prefetch_ring ring;
    size_t queue_head, queued;
    uint64_t decoded_lsn, decoded_up_to; /* start and end of the record that was decoded last */
    uint64_t replaying_lsn, replaying_up_to;
    uint64_t no_readahead_until;
    const pgq_prefetch_record *at; /* its blocks are being looked at, from at_block on; NULL: no record's */
    uint32_t at_block;
    bool at_noted;         /* the effect of `at` is in the filters */
    uint32_t filter_count; /* with `upstream`: whether there are any */
    uint32_t database_filters, oldest_filter, newest_filter;
    pgq_prefetch_relation recent_relations[4]; /* the repeat window */
    uint32_t recent_blocks[4];
    uint32_t recent_count; /* blocks that entered the window, mod 2^32, but never again below 4 */
    uint64_t counters[PGQ_PREFETCH_WHATS]; /* by pgq_prefetch_what */
    /* The other columns of pg_stat_recovery_prefetch, as pgq_prefetch_show_distances left them. */
    uint64_t wal_distance;
    uint32_t block_distance, io_depth;
    uint64_t show_from;
} pgq_prefetch;

/*
 * XLogPrefetcherAllocate and XLogPrefetcherBeginRead: starts to read the WAL at `begin`, with nothing known, also if the
 * prefetcher was used before. concurrency is maintenance_io_concurrency; 0 switches prefetching off, as recovery_prefetch =
 * off does.
 * PGQ_NULL; SPACE: queue_space is below 1, or filter_space below 2 or above 2^31; CONCURRENCY, as pgq_prefetch_reconfigure.
 * A refusal changes nothing.
 */
pgq_status pgq_prefetch_begin(pgq_prefetch *prefetch, uint32_t concurrency, uint64_t begin);

/*
 * XLogPrefetcherBeginRead alone: reads on at another place of the WAL. What was decoded, what is in flight, a suspension and
 * the record that is being looked at are forgotten; filters, window and counters stay. Upstream, 15 to 18, does not forget
 * that record, and may then read none. PGQ_NULL. The prefetcher has begun.
 */
pgq_status pgq_prefetch_begin_read(pgq_prefetch *prefetch, uint64_t begin);

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
 * stopped: it looks at the same block or asks for the same record. PGQ_NULL, also if the world lacks one of its first
 * three calls. RECORD: read_ahead gave a record that cannot
 * follow; it is not taken. FILTERS: no filter is free. GONE: the answer of `buffer` was -2. With
 * concurrency 0 no filter is needed and no buffer asked for, so that replay can go on. *record is then untouched.
 */
pgq_status pgq_prefetch_read(pgq_prefetch *prefetch, const pgq_prefetch_world *world,
                             const pgq_prefetch_record **record);

/*
 * XLogPrefetcherComputeStats: sets wal_distance (bytes from the record given out to the last one decoded), block_distance
 * (entries of the ring) and io_depth (those with an I/O). pgq_prefetch_read does so once 8 KiB of WAL have passed since;
 * upstream also does before it sleeps. PGQ_NULL.
 */
pgq_status pgq_prefetch_show_distances(pgq_prefetch *prefetch);

/* ---- the policy of advise_adaptive and uring_direct ---- */

enum {
    PGQ_PREFETCH_PROBE_EVERY =
        8, /* so many references after a probe that found nothing the next one follows */
    PGQ_PREFETCH_PROBE_SELDOM =
        64, /* the same, where a probe is a read: that starts one if it finds nothing */
    PGQ_PREFETCH_FEWEST_PROBES = 64, /* so many probes in a row that find their block cached make it quiet, */
    PGQ_PREFETCH_MOST_PROBES = 1024, /* up to so many, if it was woken again and again */
    PGQ_PREFETCH_LONG_QUIET = 1024,  /* reads: after so many it was right to be quiet */
    PGQ_PREFETCH_WATCH_ALL = 4096,   /* and after so many, of which none had to wait, */
    PGQ_PREFETCH_WATCH_EVERY = 8,    /* only each so-manieth tells whether it had to */
    PGQ_PREFETCH_COLD_PROBES = 64,   /* after so many probes in a row that found nothing */
    PGQ_PREFETCH_TIMES_COLD = 8,     /* they are so many times as seldom */
    PGQ_PREFETCH_COMBINE = 16        /* io_combine_limit, 128 KiB: so many blocks in sequence are one read */
};

/* What to do about a block that the prefetcher would advise. */
typedef enum pgq_prefetch_advice {
    PGQ_PREFETCH_ADVICE_NONE = 0,
    PGQ_PREFETCH_ADVICE_GIVE = 1,
    PGQ_PREFETCH_ADVICE_PROBE = 2 /* look whether the kernel has it cached, without waiting, and say so */
} pgq_prefetch_advice;

/*
 * AdvicePolicy of ref/prefetch.py. To start, all zero but probes_needed, which is PGQ_PREFETCH_FEWEST_PROBES, and
 * probe_every, which is 1 or more.
 */
typedef struct pgq_prefetch_policy {
    uint32_t probe_every;
    bool quiet;
    uint32_t probes_needed, cached_probes;
    uint32_t cold_probes; /* in a row, at most PGQ_PREFETCH_COLD_PROBES */
    uint32_t until_probe;
    uint64_t quiet_reads; /* those that were watched, */
    uint32_t until_watch; /* and so many follow that are not */
    bool looked;          /* the two below are set: */
    uint32_t file, block; /* the block that was looked at last, */
    bool gave;            /* whether it was advised, */
    uint32_t run;         /* and how many before it were in sequence, at most PGQ_PREFETCH_COMBINE */
} pgq_prefetch_policy;

/* Look-ahead has come to a block that is in no buffer. comes_next: replay needs it before anything else. */
pgq_prefetch_advice pgq_prefetch_policy_look(pgq_prefetch_policy *policy, uint32_t file, uint32_t block,
                                             bool comes_next);

/* The answer to a probe. Returns whether to advise the block. */
bool pgq_prefetch_policy_probed(pgq_prefetch_policy *policy, bool cached);

/* While quiet, replay reads a block: whether pgq_prefetch_policy_read is to hear of it. */
bool pgq_prefetch_policy_watches(pgq_prefetch_policy *policy);

/* While quiet, replay has read a block, watched: the kernel had it cached, or it had to wait. */
void pgq_prefetch_policy_read(pgq_prefetch_policy *policy, bool cached);

/* ---- the engine ---- */

/* A block that replay needs: number `block`, of 8192 bytes (the size of the engine's buffers), of file number `file`. */
typedef struct pgq_prefetch_access {
    uint32_t file, block;
} pgq_prefetch_access;

/* What the engine did. A log of steps can be held against the definition, and against the model. */
typedef enum pgq_prefetch_step_what {
    PGQ_PREFETCH_STEP_ADVISE = 0,   /* posix_fadvise for this access's block */
    PGQ_PREFETCH_STEP_PROBE = 1,    /* looked whether the kernel has it cached */
    PGQ_PREFETCH_STEP_SUBMIT = 2,   /* gave io_uring a read of it */
    PGQ_PREFETCH_STEP_COMPLETE = 3, /* io_uring says that this read has ended */
    PGQ_PREFETCH_STEP_READ = 4,     /* pread */
    PGQ_PREFETCH_STEP_USE = 5,      /* replay: the page is in a buffer */
    PGQ_PREFETCH_STEP_GIVE_UP = 6   /* io_uring did not take this read: replay will pread it */
} pgq_prefetch_step_what;

typedef struct pgq_prefetch_step {
    pgq_prefetch_step_what what;
    uint32_t access; /* from 0 */
} pgq_prefetch_step;

/* The engine's system calls, for a caller that stands between. A NULL member: the system's own. */
typedef struct pgq_prefetch_io {
    void *arg;
    /* As pread: the bytes read, 0 at the end of the file, or -errno. nowait: -EAGAIN rather than wait for a device. */
    int64_t (*read)(void *arg, int fd, void *buffer, size_t size, uint64_t offset, bool nowait);
    /* As posix_fadvise with POSIX_FADV_WILLNEED. Its result does not matter: advice is no more than that. */
    int (*advise)(void *arg, int fd, uint64_t offset, size_t size);
    /*
     * Whether the kernel has all of it cached, 1 or 0, or -errno: it does not say. Reads nothing. Where this says nothing, or
     * is NULL and `read` is not, a read of a byte that must not wait stands for it: the rest of the job.
     */
    int (*cached)(void *arg, int fd, uint64_t offset, size_t size);
    /*
     * Is given what io_uring says of an access's read, and returns what the engine shall take it for. Of a read of several
     * blocks it is given this one's part; if that read has failed, 0: replay preads each of them.
     */
    int32_t (*completed)(void *arg, uint32_t access, int32_t result);
    /*
     * Before io_uring is given what is new, and before a wait for a read to end: 0, and the call is made; or -errno, which
     * stands for the call's own failure. A submission that fails with EINTR, EAGAIN or EBUSY is tried again, up to 100
     * times in a row. What it fails for in the end, replay preads. A wait that fails is tried again for ever, after 100 us.
     * One call may do both: it is made if `wait` says 0 too, and else submits alone.
     */
    int (*submit)(void *arg);
    int (*wait)(void *arg);
} pgq_prefetch_io;

/*
 * A list of block references to be replayed on real files, which do not change meanwhile. Each access stands for a WAL record
 * with one block, or record_blocks says how many of them each record has. What is zero at the start may stay so.
 */
typedef struct pgq_prefetch_job {
    const int
        *fds; /* the files, open for reading; the engine leaves them open and does not use their positions */
    uint32_t file_count;
    /*
     * Files in segments, as PostgreSQL stores a relation (5/1234, 5/1234.1, ...): of each file how many segments it has, which
     * follow each other in fds; -1 there: it is missing. Block b lies in segment b / segment_blocks. As for upstream's
     * mdnblocks, a file ends with its first segment that is missing or not full. NULL: each file is one of fds, of any size.
     */
    const uint32_t *segments;
    uint32_t segment_blocks; /* 0: PGQ_PREFETCH_SEGMENT_BLOCKS; without segments it is not looked at */
    const pgq_prefetch_access *accesses;
    size_t access_count;
    const uint32_t *record_blocks; /* how many each record has, at most 33; NULL: each has one */
    size_t record_count;           /* without record_blocks it is not looked at */
    uint32_t concurrency;          /* maintenance_io_concurrency; 0: no look-ahead */
    uint32_t buffers;              /* pages of the buffer pool: more than concurrency, at most 2^31 - 1 */
    const pgq_prefetch_io *io;
    void *arg;
    void (*use)(void *arg, uint32_t access, void *page); /* replay of an access; NULL: nothing to do */
    pgq_prefetch_step *steps;                            /* NULL: no log */
    size_t step_space;

    /* what it comes to, also if it is refused */
    size_t step_count;
    size_t used;      /* accesses that were replayed: all before the one that is refused */
    size_t rested;    /* those of them that were replayed without asking the prefetcher: by `sync` all */
    size_t combined;  /* accesses whose block io_uring was given together with the block before it */
    size_t calls;     /* of io_uring, to submit reads, to wait for one, or both; also those that failed */
    bool registered;  /* io_uring knows the buffers, and need not look them up for each read */
    int error_number; /* for PGQ_PREFETCH_IO, PGQ_PREFETCH_FILE, PGQ_PREFETCH_URING and PGQ_PREFETCH_DIRECT */
    uint64_t counters[PGQ_PREFETCH_WHATS]; /* by pgq_prefetch_what */
} pgq_prefetch_job;

/*
 * Kind `prefetch_replay`: replays the accesses of a job in their order. What a record of several blocks had in flight counts
 * until all of it is replayed, and once its replay has begun no more of it is looked at. A page in the pool is not read again; else it is
 * read into the next buffer in turn that nobody needs. The variants differ in what they do before.
 *
 * Allocates its workspace at the start (buffers of 8 KiB, 60 bytes for each, and what look-ahead may have decoded), frees it at the end, and nothing between.
 * All reads that it started have ended, and all that it opened is closed, when it returns. `uring_direct` reads past the
 * kernel's cache what its policy does not find there; all other reads go through it: of blocks that are cached or follow each
 * other, and of what io_uring left. Blocks that follow each other, and whose buffers do, are one read, up to
 * PGQ_PREFETCH_COMBINE of them. A read that was put into io_uring's queue is submitted at the latest when replay waits for it, or
 * after an eighth of `concurrency` records. After 64 such reads `uring_direct` registers its buffers, if the kernel lets it: they
 * then count against RLIMIT_MEMLOCK until the job ends.
 * Refusals: PGQ_NULL, PGQ_MEMORY, PGQ_PREFETCH_JOB. FILE (index: of
 * the access, from 1; 0: of the file that fstat refuses), before anything is replayed. SEGMENT (index: in fds, from 1), too: a
 * segment is longer than it may be, or has blocks although its file has ended before. PAST_END, SHORT, IO (index: of the
 * access) when replay comes to this access, and not earlier: all before it were replayed. A part of a block at the end of a file
 * is past the end. URING, DIRECT (index 0) from the variants that need it, before anything is replayed. `uring_direct` opens each
 * file once more, by its name in /proc/self/fd: it needs as many descriptors, and the right to open them, or refuses with DIRECT.
 */
typedef pgq_status (*pgq_prefetch_replay_fn)(pgq_prefetch_job *job);

typedef struct pgq_prefetch_replay_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_prefetch_replay_fn fn;
} pgq_prefetch_replay_variant;

extern const pgq_prefetch_replay_variant pgq_prefetch_replay_variants[];
extern const size_t pgq_prefetch_replay_variant_count;

pgq_status pgq_prefetch_replay(pgq_prefetch_job *job);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
