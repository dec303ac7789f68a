/* SPDX-License-Identifier: PostgreSQL */
/*
 * pgquern: verified kernels for PostgreSQL's recovery, vacuum and logical-decoding paths. The public C API.
 *
 * Each *kind* of kernel has one contract, one table of variants and one dispatched entry point. A table runs from
 * upstream's algorithms to the fastest; the entry point takes the last one that this CPU supports. Two environment
 * variables change that. Each is read once, at the first call, and an empty one counts as unset:
 *
 * - PGQUERN_VARIANT names the variant to run. A kind that has no variant of that name runs as if it were unset. If no
 *   kind has one, all dispatched calls return PGQ_VARIANT; if this kind's cannot run on this CPU, its calls do.
 * - PGQUERN_CPU hides what the CPU has above a level, and never adds anything: `none` (no variant beyond plain C),
 *   `avx2`, `avx512` (F, BW, DQ, VL, but not VBMI2: as Skylake's and Cascade Lake's servers), `avx512vbmi2`. With any
 *   other word all dispatched calls return PGQ_VARIANT, and only variants in plain C say that they are supported.
 *
 * No function here allocates, throws or keeps a pointer; all are safe to call from several threads at once on
 * different data. The declarations below are also what the Python binding is generated from.
 */
#ifndef PGQUERN_H
#define PGQUERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- common: status ------------------------------------------------------------------------------------------ */

/* Numbers are part of the interface: never renumbered. 1 to 19 for all kinds and pages, from 20 on for XID arrays. */
typedef enum pgq_code {
    PGQ_OK = 0,
    PGQ_NULL = 1,                  /* a required pointer is NULL */
    PGQ_COMPACTION_BLOCK_SIZE = 2, /* the buffer is not of 8192 bytes (seen by the bindings; C cannot tell) */
    PGQ_COMPACTION_HEADER =
        3, /* not 24 <= pd_lower <= pd_upper <= pd_special <= 8192, or pd_special unaligned */
    PGQ_COMPACTION_LP_OFF = 4,   /* lp_off outside [pd_upper, pd_special) */
    PGQ_COMPACTION_LP_ALIGN = 5, /* lp_off not MAXALIGNed */
    PGQ_COMPACTION_LP_END = 6,   /* lp_off + MAXALIGN(lp_len) above pd_special */
    PGQ_COMPACTION_TOO_MANY = 7, /* the 292nd line pointer with storage: more than MaxHeapTuplesPerPage */
    PGQ_COMPACTION_TOTAL = 8,    /* the aligned lengths add up to more than pd_special - pd_lower */
    PGQ_COMPACTION_OVERLAP = 9,  /* presorted page: a tuple ends above the lp_off of the one before it */
    PGQ_VARIANT = 10,            /* PGQUERN_VARIANT or PGQUERN_CPU cannot be followed: see above */
    PGQ_SNAPBUILD_XID_PERMANENT = 20, /* an XID below 3 where a normal one is needed */
    PGQ_SNAPBUILD_UNSORTED = 21,      /* an array that must be sorted is not */
    PGQ_SNAPBUILD_CAPACITY = 22,      /* the result would not fit into the array */
    PGQ_SNAPBUILD_DUPLICATE = 23,     /* an array that must be free of duplicates is not */
    PGQ_MEMORY = 24                   /* a variant that needs workspace could not allocate it */
} pgq_code;

/* index: the 1-based line pointer, or array element, at which the fault was found; 0 if it belongs to none. */
typedef struct pgq_status {
    pgq_code code;
    uint32_t index;
} pgq_status;

/* An English text for a code, with what to do next; a static string, never NULL, also for a number that is no code. */
const char *pgq_strerror(pgq_code code);

/* ---- common: what can run here --------------------------------------------------------------------------------- */

/* The level in use, as a word of PGQUERN_CPU: what the CPU has and the variable allows. NULL: the word is unknown. */
const char *pgq_cpu(void);

/* A row of a table of variants, without its function. supported: this CPU can run it, and PGQUERN_CPU allows it. */
typedef struct pgq_row {
    const char *kind;
    const char *variant;
    bool supported;
} pgq_row;

/* The rows of all kinds; i < pgq_row_count(). A kind's rows follow each other in the order of its table. */
size_t pgq_row_count(void);
pgq_row pgq_row_at(size_t i);

/* ---- compaction: PageRepairFragmentation ----------------------------------------------------------------------- */

/* Order of the tuples after compaction, from pd_special downwards. */
typedef enum pgq_compaction_order {
    PGQ_COMPACTION_ORDER_OFFSET = 0, /* as they lay before: by falling lp_off (PostgreSQL 13 and earlier) */
    PGQ_COMPACTION_ORDER_ITEM = 1    /* by rising line pointer number (PostgreSQL 14 and later) */
} pgq_compaction_order;

/*
 * Compacts one heap page in place, as src/backend/storage/page/bufpage.c, PageRepairFragmentation does, whole: checks,
 * line pointer scan, moving of the tuples, pd_upper, and PD_HAS_FREE_LINES.
 *
 * page: 8192 bytes, little-endian, any alignment. truncate: cut trailing unused line pointers off (PostgreSQL 15 on).
 *
 * Effects on an accepted page: unused line pointers are zeroed whole; the MAXALIGN(lp_len) bytes of each tuple are
 * moved, in the order of the variant, to the end of the tuple area, packed; lp_off of each tuple, pd_upper, pd_flags and
 * (truncate) pd_lower follow. No other byte changes: not the hole, not the special space, not the rest of the header.
 *
 * Refusals: PGQ_NULL, PGQ_COMPACTION_HEADER; then the first line pointer, in their order, that has a fault, with its first fault
 * in the order PGQ_COMPACTION_LP_OFF, PGQ_COMPACTION_LP_ALIGN, PGQ_COMPACTION_LP_END, PGQ_COMPACTION_TOO_MANY; then PGQ_COMPACTION_TOTAL; then, only when lp_off falls strictly
 * over all tuples, PGQ_COMPACTION_OVERLAP with the second of the first overlapping pair. A refused page is unchanged in all bytes.
 * The checks go beyond upstream's, which on such a page reads or writes outside it. On an unsorted page tuples may
 * overlap: each line pointer's bytes are then still those it had before.
 */
typedef pgq_status (*pgq_compaction_fn)(void *page, bool truncate);

typedef struct pgq_compaction_variant {
    const char *name;
    const char *description;
    pgq_compaction_order order;
    bool (*supported)(void); /* on this CPU, under this operating system */
    pgq_compaction_fn fn;
} pgq_compaction_variant;

extern const pgq_compaction_variant pgq_compaction_variants[];
extern const size_t pgq_compaction_variant_count;

/* The variant that the two functions below run; NULL if the environment cannot be followed (PGQ_VARIANT). */
const pgq_compaction_variant *pgq_compaction_dispatched(void);

/* One page, by the dispatched variant. */
pgq_status pgq_compaction_repair_fragmentation(void *page, bool truncate);

/*
 * n pages, one after the other, the next one prefetched while one is worked on: for pages that are not in the cache (to
 * those that are it adds some 0.1 us each). The pages must not overlap. status[i] becomes the status of pages[i]; a NULL
 * entry gets PGQ_NULL and does not stop the others. Returns the number of pages that were not compacted, that is, whose
 * status is not PGQ_OK: 0 means that all were. If pages or status is NULL, nothing is read or written, and it returns n.
 * If the environment cannot be followed, each status becomes PGQ_VARIANT, no page is touched, and it returns n.
 */
size_t pgq_compaction_repair_fragmentation_batch(void *const pages[], size_t n, bool truncate,
                                                 pgq_status status[]);

/* The same with a variant of your choice: its fn, which this CPU must support. An fn of NULL counts as pages of NULL. */
size_t pgq_compaction_batch(pgq_compaction_fn fn, void *const pages[], size_t n, bool truncate,
                            pgq_status status[]);

/* ---- snapbuild: arrays of XIDs ---------------------------------------------------------------------------------- */

/*
 * An XID is a uint32_t: 0, 1, 2 are permanent, all others normal. Among normal ones, a precedes b iff (int32_t)(a - b)
 * is negative. "Raw-sorted" means by the unsigned number, as upstream's xidComparator orders them.
 *
 * What costs O(1) is always checked: NULL pointers, counts past the capacity, the XIDs of a batch. What would cost a
 * pass over the whole array (permanent XIDs in it, order, duplicates) is checked by the *_check functions: call them
 * first where the input is not trusted, as the Python binding does. Without them a kernel given such an array still
 * stays within it, but its answer means nothing. A refusal leaves everything as it was, unless said otherwise.
 */

/* builder->committed of src/backend/replication/logical/snapbuild.c: XIDs that changed a catalog and have committed. */
typedef struct pgq_snapbuild_committed {
    uint32_t *xip;     /* xcnt_space XIDs, of which the first xcnt count; may be NULL if xcnt_space is 0 */
    size_t xcnt;       /* at most xcnt_space */
    size_t xcnt_space; /* at most 2^28, as many as upstream can allocate at once */
    bool sorted; /* raw-sorted and free of duplicates: set by who knows it, kept up by the functions here */
} pgq_snapbuild_committed;

/*
 * PGQ_NULL; PGQ_SNAPBUILD_CAPACITY; PGQ_SNAPBUILD_XID_PERMANENT at the first permanent XID; and if sorted is set, PGQ_SNAPBUILD_UNSORTED or
 * PGQ_SNAPBUILD_DUPLICATE at the first XID that is not above the one before it.
 */
pgq_status pgq_snapbuild_committed_check(const pgq_snapbuild_committed *committed);

/*
 * Kind `purge`: SnapBuildPurgeOlderTxn. Keeps x iff it does not precede xmin, in the order they stand in; sets xcnt. The
 * XIDs beyond the new xcnt are left undefined. Does nothing if xmin is permanent: the builder has none yet.
 * PGQ_NULL, PGQ_SNAPBUILD_CAPACITY; PGQ_MEMORY from the variant that allocates.
 *
 * Kind `purge_sorted`: the same of a raw-sorted array without duplicates; PGQ_SNAPBUILD_UNSORTED (index 0) if `sorted` is not set.
 */
typedef pgq_status (*pgq_snapbuild_purge_fn)(pgq_snapbuild_committed *committed, uint32_t xmin);

typedef struct pgq_snapbuild_purge_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_snapbuild_purge_fn fn;
} pgq_snapbuild_purge_variant;

extern const pgq_snapbuild_purge_variant pgq_snapbuild_purge_variants[];
extern const size_t pgq_snapbuild_purge_variant_count;
extern const pgq_snapbuild_purge_variant pgq_snapbuild_purge_sorted_variants[];
extern const size_t pgq_snapbuild_purge_sorted_variant_count;

pgq_status pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_sorted(pgq_snapbuild_committed *committed, uint32_t xmin);

/*
 * Kind `insert`: a transaction and its subtransactions have committed (SnapBuildAddCommittedTxn for each of them).
 *
 * batch: m normal XIDs in any order, in memory of their own; its contents are undefined afterwards. consistent: the
 * builder has reached SNAPBUILD_CONSISTENT. After any sequence of inserts and purges the array holds, as a set, what it
 * held and the batch; whether sorted or with duplicates is the variant's business, and `sorted` tells.
 * PGQ_NULL, PGQ_SNAPBUILD_XID_PERMANENT (1-based place in the batch), PGQ_SNAPBUILD_CAPACITY: xcnt + m is more than xcnt_space, which is
 * asked for even if duplicates would make it fit.
 */
typedef pgq_status (*pgq_snapbuild_insert_fn)(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                              bool consistent);

typedef struct pgq_snapbuild_insert_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_snapbuild_insert_fn fn;
} pgq_snapbuild_insert_variant;

extern const pgq_snapbuild_insert_variant pgq_snapbuild_insert_variants[];
extern const size_t pgq_snapbuild_insert_variant_count;

pgq_status pgq_snapbuild_insert(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                bool consistent);

/*
 * Kind `snapshot`: SnapBuildBuildSnapshot. Writes the XIDs, raw-sorted, to xip, which has space for xip_space of them and
 * does not overlap the array. PGQ_NULL; PGQ_SNAPBUILD_CAPACITY: xip_space is less than xcnt.
 */
typedef pgq_status (*pgq_snapbuild_snapshot_fn)(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                                size_t xip_space);

typedef struct pgq_snapbuild_snapshot_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_snapbuild_snapshot_fn fn;
} pgq_snapbuild_snapshot_variant;

extern const pgq_snapbuild_snapshot_variant pgq_snapbuild_snapshot_variants[];
extern const size_t pgq_snapbuild_snapshot_variant_count;

pgq_status pgq_snapbuild_snapshot(const pgq_snapbuild_committed *committed, uint32_t xip[], size_t xip_space);

/* The same array of FullTransactionIds (epoch << 32 | XID), always sorted and free of duplicates, with a moving head. */
typedef struct pgq_snapbuild_committed_full {
    uint64_t *fxip;    /* xcnt_space of them; those from head on count */
    size_t head;       /* what was purged and not yet compacted away */
    size_t xcnt;       /* head + xcnt is at most xcnt_space */
    size_t xcnt_space; /* at most 2^27 */
} pgq_snapbuild_committed_full;

/* As pgq_snapbuild_committed_check. */
pgq_status pgq_snapbuild_committed_full_check(const pgq_snapbuild_committed_full *committed);

/*
 * Kind `purge_full`: keeps x iff x >= full_xmin; sets xcnt, and head where the variant moves it. Does nothing if the XID
 * of full_xmin is permanent. PGQ_NULL, PGQ_SNAPBUILD_CAPACITY; PGQ_MEMORY from the variant that allocates.
 */
typedef pgq_status (*pgq_snapbuild_purge_full_fn)(pgq_snapbuild_committed_full *committed,
                                                  uint64_t full_xmin);

typedef struct pgq_snapbuild_purge_full_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_snapbuild_purge_full_fn fn;
} pgq_snapbuild_purge_full_variant;

extern const pgq_snapbuild_purge_full_variant pgq_snapbuild_purge_full_variants[];
extern const size_t pgq_snapbuild_purge_full_variant_count;

pgq_status pgq_snapbuild_purge_full(pgq_snapbuild_committed_full *committed, uint64_t full_xmin);

/*
 * Inserts m FullTransactionIds (any order; duplicates fall out; the batch is undefined afterwards). Moves the array to
 * the front only when there is no space behind it: as long as xcnt_space is at least twice the live count that costs a
 * constant per inserted XID. PGQ_NULL, PGQ_SNAPBUILD_XID_PERMANENT, PGQ_SNAPBUILD_CAPACITY: xcnt + m is more than xcnt_space.
 */
pgq_status pgq_snapbuild_insert_full(pgq_snapbuild_committed_full *committed, uint64_t batch[], size_t m);

/*
 * As pgq_snapbuild_snapshot, cut down to XIDs and raw-sorted. The array must span less than 2^32: its own order is then a rotation
 * of the raw one. PGQ_NULL, PGQ_SNAPBUILD_CAPACITY; PGQ_SNAPBUILD_UNSORTED (index 0) if it spans more.
 */
pgq_status pgq_snapbuild_snapshot_full(const pgq_snapbuild_committed_full *committed, uint32_t xip[],
                                       size_t xip_space);

/*
 * Kind `known_assigned`: the loop of KnownAssignedXidsCompress (src/backend/storage/ipc/procarray.c). Moves the XIDs of
 * [tail, head) whose flag is set to the front, in their order, sets the flags of as many entries from 0 on, and returns
 * their number. What lies beyond is left undefined.
 */
typedef size_t (*pgq_snapbuild_known_assigned_fn)(uint32_t xids[], bool valid[], size_t tail, size_t head);

typedef struct pgq_snapbuild_known_assigned_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_snapbuild_known_assigned_fn fn;
} pgq_snapbuild_known_assigned_variant;

extern const pgq_snapbuild_known_assigned_variant pgq_snapbuild_known_assigned_variants[];
extern const size_t pgq_snapbuild_known_assigned_variant_count;

/* Why the array might be compressed: KAXCompressReason of 16 and later. */
typedef enum pgq_snapbuild_compress_reason {
    PGQ_SNAPBUILD_COMPRESS_NO_SPACE = 0, /* always */
    PGQ_SNAPBUILD_COMPRESS_PRUNE = 1,    /* if there is a gap */
    PGQ_SNAPBUILD_COMPRESS_TRANSACTION_END =
        2, /* every 128th call that finds a gap, from the first on, if at most half is live */
    PGQ_SNAPBUILD_COMPRESS_STARTUP_PROCESS_IDLE =
        3 /* if there is a gap and the last one is 1000 ms ago, or there was none */
} pgq_snapbuild_compress_reason;

/*
 * KnownAssignedXids of a standby: XIDs in the order of precedes (so within half the ring), each with a flag that it is
 * still running. To start, give it two arrays of `capacity`, and zero in all other members.
 *
 * One process at a time may change it. Readers (search, get) may run while it appends (add, as long as head plus the
 * number of XIDs is at most capacity): it writes above head and then stores head with release; readers load head with
 * acquire and never look at num. All else, check too, needs the readers kept out, as upstream's ProcArrayLock does.
 */
typedef struct pgq_snapbuild_known_assigned {
    uint32_t *xids;
    bool *valid;
    size_t capacity;
    size_t tail, head;         /* the used part is [tail, head) */
    size_t num;                /* flags set in it */
    uint32_t transaction_ends; /* calls for TRANSACTION_END that found a gap, mod 2^32 */
    int64_t last_compress;     /* in ms; 0: never */
    const pgq_snapbuild_known_assigned_variant *variant; /* NULL: the dispatched one */
} pgq_snapbuild_known_assigned;

/* PGQ_NULL, PGQ_SNAPBUILD_CAPACITY (head or num out of range), PGQ_SNAPBUILD_XID_PERMANENT, PGQ_SNAPBUILD_UNSORTED or PGQ_SNAPBUILD_DUPLICATE at an element of
 * the used part that does not follow the one before it. */
pgq_status pgq_snapbuild_known_assigned_check(const pgq_snapbuild_known_assigned *known);

/*
 * Adds from_xid to to_xid. PGQ_NULL; PGQ_SNAPBUILD_XID_PERMANENT (1: from_xid, 2: to_xid); PGQ_SNAPBUILD_UNSORTED (2: to_xid precedes
 * from_xid; 1: from_xid precedes the last entry); PGQ_SNAPBUILD_DUPLICATE (it is the last entry); PGQ_SNAPBUILD_CAPACITY: they don't fit even
 * after compressing, which has then been done. PGQ_VARIANT. now: in ms, as for all below.
 */
pgq_status pgq_snapbuild_known_assigned_add(pgq_snapbuild_known_assigned *known, uint32_t from_xid,
                                            uint32_t to_xid, int64_t now);

/* Is xid among them? */
bool pgq_snapbuild_known_assigned_search(const pgq_snapbuild_known_assigned *known, uint32_t xid);

/* Removes xid: its flag is cleared; at the tail, the tail moves over all that are cleared. False: it was not there. */
bool pgq_snapbuild_known_assigned_remove(pgq_snapbuild_known_assigned *known, uint32_t xid);

/* Removes xid and its n subtransactions, then compresses for TRANSACTION_END. PGQ_NULL, PGQ_VARIANT. */
pgq_status pgq_snapbuild_known_assigned_remove_tree(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                    const uint32_t subxids[], size_t n, int64_t now);

/*
 * Removes all that precede xid, except the n prepared ones; then compresses for PRUNE. An xid of 0 removes all there
 * are. PGQ_NULL, PGQ_VARIANT.
 */
pgq_status pgq_snapbuild_known_assigned_remove_preceding(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                         const uint32_t prepared[], size_t n, int64_t now);

/* Compresses, if `reason` finds it worth while; *done, if not NULL, says whether. PGQ_NULL, PGQ_VARIANT. */
pgq_status pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                 pgq_snapbuild_compress_reason reason, int64_t now,
                                                 bool *done);

/*
 * Copies the live XIDs to xarray, up to the first that does not precede xmax (0: all); their number to *n. xarray has
 * space for `space`. PGQ_NULL; PGQ_SNAPBUILD_CAPACITY: there are more, and xarray holds the first `space`.
 */
pgq_status pgq_snapbuild_known_assigned_get(const pgq_snapbuild_known_assigned *known, uint32_t xmax,
                                            uint32_t xarray[], size_t space, size_t *n);

/* ---- end of the kinds ------------------------------------------------------------------------------------------- */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
