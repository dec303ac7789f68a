/* SPDX-License-Identifier: PostgreSQL */
/*
 * Arrays of XIDs: those of committed transactions in the snapshot builder of logical decoding, and the
 * KnownAssignedXids of a standby. Kinds of kernels: `snapbuild_purge`, `snapbuild_purge_sorted`,
 * `snapbuild_purge_full`, `snapbuild_insert`, `snapbuild_snapshot`, `snapbuild_known_assigned`.
 *
 * An XID is a uint32_t: 0, 1, 2 are permanent, all others normal. Among normal ones, a precedes b if and only if
 * (int32_t)(a - b) is negative. "Raw-sorted" means sorted by the unsigned number, as upstream's xidComparator does.
 *
 * What costs O(1) is always checked: NULL pointers, counts past the capacity, the XIDs of a batch. What would cost a
 * pass over the whole array (permanent XIDs in it, order, duplicates) is checked by the *_check functions. Call them
 * first where the input is not trusted, as the Python binding does. A kernel that is given a wrong array without that
 * check still reads and writes only within the array, but its answer means nothing.
 *
 * A refusal leaves everything as it was, unless said otherwise. In the comments below the codes UNSORTED, DUPLICATE,
 * CAPACITY and XID_PERMANENT are short for PGQ_SNAPBUILD_<name>; indexes count from 1.
 */
#ifndef PGQUERN_SNAPBUILD_H
#define PGQUERN_SNAPBUILD_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- XIDs of committed transactions ---- */

/* builder->committed of src/backend/replication/logical/snapbuild.c: XIDs that changed a catalog and have committed. */
typedef struct pgq_snapbuild_committed {
    uint32_t *xip;     /* xcnt_space XIDs, of which the first xcnt count; may be NULL if xcnt_space is 0 */
    size_t xcnt;       /* at most xcnt_space */
    size_t xcnt_space; /* at most 2^28, as many as upstream can allocate at once */
    bool sorted;       /* raw-sorted, without duplicates: the caller sets it; these functions maintain it */
} pgq_snapbuild_committed;

/*
 * PGQ_NULL; CAPACITY; XID_PERMANENT at the first permanent XID; and if sorted is set, UNSORTED or DUPLICATE at the first
 * XID that is not above the one before it.
 */
pgq_status pgq_snapbuild_committed_check(const pgq_snapbuild_committed *committed);

/*
 * Kind `snapbuild_purge`: SnapBuildPurgeOlderTxn. Keeps x if and only if it does not precede xmin. The order stays. Sets
 * xcnt; the XIDs beyond the new xcnt are undefined. Does nothing if xmin is permanent: the builder has none yet.
 * PGQ_NULL, CAPACITY; PGQ_MEMORY from the variant that allocates.
 *
 * Kind `snapbuild_purge_sorted`: the same for a raw-sorted array without duplicates. Also UNSORTED (index 0) if `sorted`
 * is not set.
 */
typedef pgq_status (*pgq_snapbuild_purge_fn)(pgq_snapbuild_committed *committed, uint32_t xmin);

typedef struct pgq_snapbuild_purge_variant {
    const char *name;
    const char *description;
    bool (*supported)(void); /* this CPU and operating system can run it, and PGQUERN_CPU allows it */
    pgq_snapbuild_purge_fn fn;
} pgq_snapbuild_purge_variant;

extern const pgq_snapbuild_purge_variant pgq_snapbuild_purge_variants[];
extern const size_t pgq_snapbuild_purge_variant_count;
extern const pgq_snapbuild_purge_variant pgq_snapbuild_purge_sorted_variants[];
extern const size_t pgq_snapbuild_purge_sorted_variant_count;

pgq_status pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status pgq_snapbuild_purge_sorted(pgq_snapbuild_committed *committed, uint32_t xmin);

/*
 * Kind `snapbuild_insert`: a transaction and its subtransactions have committed (SnapBuildAddCommittedTxn for each).
 *
 * batch: m normal XIDs in any order, in memory of their own; afterwards its contents are undefined. consistent: the
 * builder has reached SNAPBUILD_CONSISTENT. After any sequence of inserts and purges the array holds, as a set, what it
 * held and the batch. Each variant decides whether the array is sorted or has duplicates, and `sorted` tells.
 * PGQ_NULL; XID_PERMANENT (place in the batch); CAPACITY: xcnt + m is more than xcnt_space, even if the array would have
 * space once duplicates are dropped.
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
 * Kind `snapbuild_snapshot`: SnapBuildBuildSnapshot. Writes the XIDs, raw-sorted, to xip, which has space for xip_space
 * of them and does not overlap the array. PGQ_NULL; CAPACITY: xip_space is less than xcnt.
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

/* ---- the same array with FullTransactionIds ---- */

/* FullTransactionIds (epoch << 32 | XID), always sorted and without duplicates, with a moving head. */
typedef struct pgq_snapbuild_committed_full {
    uint64_t *fxip;    /* xcnt_space of them; those of [head, head + xcnt) count */
    size_t head;       /* entries below it were purged; their space is reused later */
    size_t xcnt;       /* head + xcnt is at most xcnt_space */
    size_t xcnt_space; /* at most 2^27 */
} pgq_snapbuild_committed_full;

/* PGQ_NULL, CAPACITY, XID_PERMANENT, UNSORTED and DUPLICATE as pgq_snapbuild_committed_check; indexes count from head. */
pgq_status pgq_snapbuild_committed_full_check(const pgq_snapbuild_committed_full *committed);

/*
 * Kind `snapbuild_purge_full`: keeps x if and only if x >= full_xmin. Sets xcnt, and head if the variant moves it. Does
 * nothing if the XID of full_xmin is permanent. PGQ_NULL, CAPACITY; PGQ_MEMORY from the variant that allocates.
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
 * Inserts m FullTransactionIds in any order and drops duplicates; afterwards the batch is undefined. Moves the array to
 * the front only when there is no space behind it. If xcnt_space is at least twice the live count, that costs a constant
 * time per inserted XID. PGQ_NULL; XID_PERMANENT (place in the batch); CAPACITY: xcnt + m is more than xcnt_space.
 */
pgq_status pgq_snapbuild_insert_full(pgq_snapbuild_committed_full *committed, uint64_t batch[], size_t m);

/*
 * As pgq_snapbuild_snapshot: writes the lower halves, raw-sorted. The array must span less than 2^32: its own order is
 * then a rotation of the raw one. PGQ_NULL; CAPACITY; UNSORTED (index 0) if it spans more.
 */
pgq_status pgq_snapbuild_snapshot_full(const pgq_snapbuild_committed_full *committed, uint32_t xip[],
                                       size_t xip_space);

/* ---- KnownAssignedXids ---- */

/*
 * Kind `snapbuild_known_assigned`: the loop of KnownAssignedXidsCompress (src/backend/storage/ipc/procarray.c). Moves the
 * XIDs of [tail, head) whose flag is set to the front, in their order, sets the flags of as many entries from 0 on, and
 * returns their number. XIDs and flags beyond these are undefined.
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

/* Why the array might be compressed: KAXCompressReason of PostgreSQL 16 and later; and when it then is. */
typedef enum pgq_snapbuild_compress_reason {
    PGQ_SNAPBUILD_COMPRESS_NO_SPACE = 0, /* always */
    PGQ_SNAPBUILD_COMPRESS_PRUNE = 1,    /* if there is a gap */
    /* at the first and then every 128th call that finds a gap, if at most half of the entries is live */
    PGQ_SNAPBUILD_COMPRESS_TRANSACTION_END = 2,
    /* if there is a gap, and the last compression was 1000 ms ago or there was none */
    PGQ_SNAPBUILD_COMPRESS_STARTUP_PROCESS_IDLE = 3
} pgq_snapbuild_compress_reason;

/*
 * XIDs in the order of precedes (so within half the ring), each with a flag that it is still running. To start, give it
 * two arrays of `capacity`, and zero in all other members.
 *
 * One process at a time may change it. Readers (search, get) may run while it appends (add, if head plus the number of
 * XIDs is at most capacity): it writes above head and then stores head with release; readers load head with acquire and
 * never look at num. All other functions, check too, need the readers kept out, as upstream's ProcArrayLock does.
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

/*
 * PGQ_NULL; CAPACITY (head or num out of range); XID_PERMANENT; UNSORTED or DUPLICATE at an element of the used part
 * that does not follow the one before it. The index is the element's place in xids.
 */
pgq_status pgq_snapbuild_known_assigned_check(const pgq_snapbuild_known_assigned *known);

/*
 * Adds from_xid to to_xid. now: in ms, as for all functions below. PGQ_NULL; XID_PERMANENT (1: from_xid, 2: to_xid);
 * UNSORTED (2: to_xid precedes from_xid; 1: the last entry does not precede from_xid); DUPLICATE (1: from_xid is it);
 * CAPACITY: they do not fit even after compressing, which has then been done; PGQ_VARIANT.
 */
pgq_status pgq_snapbuild_known_assigned_add(pgq_snapbuild_known_assigned *known, uint32_t from_xid,
                                            uint32_t to_xid, int64_t now);

/* Is xid among them? */
bool pgq_snapbuild_known_assigned_search(const pgq_snapbuild_known_assigned *known, uint32_t xid);

/*
 * Removes xid: clears its flag. If xid was at the tail, the tail moves up to the next entry whose flag is set. False: it
 * was not there.
 */
bool pgq_snapbuild_known_assigned_remove(pgq_snapbuild_known_assigned *known, uint32_t xid);

/* Removes xid and its n subtransactions, then compresses for TRANSACTION_END. PGQ_NULL, CAPACITY, PGQ_VARIANT. */
pgq_status pgq_snapbuild_known_assigned_remove_tree(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                    const uint32_t subxids[], size_t n, int64_t now);

/*
 * Removes all that precede xid, except the n prepared ones; then compresses for PRUNE. An xid of 0 removes all there
 * are. PGQ_NULL, CAPACITY, PGQ_VARIANT.
 */
pgq_status pgq_snapbuild_known_assigned_remove_preceding(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                         const uint32_t prepared[], size_t n, int64_t now);

/* Compresses if `reason` says so; *done, if not NULL, tells whether it did. PGQ_NULL, CAPACITY, PGQ_VARIANT. */
pgq_status pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                 pgq_snapbuild_compress_reason reason, int64_t now,
                                                 bool *done);

/*
 * Copies the live XIDs to xarray, up to the first that does not precede xmax (0: all); *n becomes their number. xarray
 * has space for `space`. PGQ_NULL; CAPACITY: there are more, xarray holds the first `space`, and *n is `space`.
 */
pgq_status pgq_snapbuild_known_assigned_get(const pgq_snapbuild_known_assigned *known, uint32_t xmax,
                                            uint32_t xarray[], size_t space, size_t *n);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
