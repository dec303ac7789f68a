/* SPDX-License-Identifier: PostgreSQL */
/* Compaction of heap pages: PageRepairFragmentation. One kind of kernel, `compaction`. */
#ifndef PGQUERN_COMPACTION_H
#define PGQUERN_COMPACTION_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Order of the tuples after compaction, from pd_special downwards. */
typedef enum pgq_compaction_order {
    /* as they lay before: by falling lp_off, of equal ones by rising number (PostgreSQL 13 and earlier) */
    PGQ_COMPACTION_ORDER_OFFSET = 0,
    PGQ_COMPACTION_ORDER_ITEM = 1 /* by rising line pointer number (PostgreSQL 14 and later) */
} pgq_compaction_order;

/*
 * Compacts one heap page in place. It does all that src/backend/storage/page/bufpage.c, PageRepairFragmentation, does:
 * it checks the page, scans the line pointers, moves the tuples, and sets pd_upper and PD_HAS_FREE_LINES.
 *
 * page: 8192 bytes, little-endian, any alignment. truncate: cut trailing unused line pointers off (PostgreSQL 15 on).
 * No other block size: the bounds that are checked, the workspaces and the vectors' windows are made for 8192 bytes, and
 * so are the proofs. (The kernels on arrays of ids have no blocks; the checksum takes every block size of PostgreSQL.)
 *
 * An accepted page changes as follows. Unused line pointers become zero, all 32 bits. The MAXALIGN(lp_len) bytes of each
 * tuple move to the end of the tuple area, packed, in the order of the variant. lp_off of each tuple, pd_upper,
 * pd_flags and (if truncate) pd_lower follow. No other byte changes: not the hole, not the special space, not the rest
 * of the header.
 *
 * A refused page does not change in any byte. These are the refusals, in the order in which they are looked for; names
 * are short for PGQ_COMPACTION_<name>:
 *
 * 1. PGQ_NULL, then HEADER, both with index 0.
 * 2. The first line pointer that has a fault. The code is its first fault in the order LP_OFF, LP_ALIGN, LP_END,
 *    TOO_MANY; the index is its number.
 * 3. TOTAL, with index 0.
 * 4. OVERLAP, only if lp_off falls strictly from each tuple to the next. The index is the second line pointer of the
 *    first overlapping pair.
 *
 * Upstream checks less; on such a page it reads or writes outside the page. On a page whose lp_off do not fall strictly
 * tuples may overlap: each line pointer's bytes are then those that it had before the first move.
 */
typedef pgq_status (*pgq_compaction_fn)(void *page, bool truncate);

typedef struct pgq_compaction_variant {
    const char *name;
    const char *description;
    pgq_compaction_order order;
    bool (*supported)(void); /* this CPU and operating system can run it, and PGQUERN_CPU allows it */
    pgq_compaction_fn fn;
} pgq_compaction_variant;

extern const pgq_compaction_variant pgq_compaction_variants[];
extern const size_t pgq_compaction_variant_count;

/* The variant that the two functions below run; NULL if the environment cannot be followed (PGQ_VARIANT). */
const pgq_compaction_variant *pgq_compaction_dispatched(void);

/* One page, by the dispatched variant. */
pgq_status pgq_compaction_repair_fragmentation(void *page, bool truncate);

/*
 * n pages, one after the other. The next page is prefetched while one is compacted: this is for pages that are not in
 * the cache (to those that are it adds some 0.1 us each). The pages must not overlap. status[i] becomes the status of
 * pages[i]; a NULL entry gets PGQ_NULL and does not stop the others. Returns the number of pages that were not
 * compacted, that is, whose status is not PGQ_OK: 0 means that all were. No status beyond the n-th is written. If pages
 * or status is NULL, nothing is read or written, and it returns n. If the environment cannot be followed, each status
 * becomes PGQ_VARIANT, no page is touched, and it returns n.
 */
size_t pgq_compaction_repair_fragmentation_batch(void *const pages[], size_t n, bool truncate,
                                                 pgq_status status[]);

/* The same with a variant of your choice: its fn, which this CPU must support. An fn of NULL counts as pages of NULL. */
size_t pgq_compaction_batch(pgq_compaction_fn fn, void *const pages[], size_t n, bool truncate,
                            pgq_status status[]);

/* The ids that rows may have; 0: not known, and not looked at. */
typedef struct pgq_compaction_tuple_bounds {
    uint32_t next_xid, oldest_xid, relfrozenxid;
    uint32_t next_multi, oldest_multi, relminmxid;
    uint32_t natts; /* the columns of the table */
} pgq_compaction_tuple_bounds;

/*
 * Looks at each line pointer, tuple header and HOT chain of n heap pages of 8192 bytes, the first of them block first_block.
 * suspect[i] becomes 0 if page i is all zero, or if all of these hold, whatever pg_xact and pg_multixact say; else 1:
 *
 * - the kernels above accept it, and no two tuples share bytes;
 * - verify_heapam names no line pointer of it (contrib/amcheck/verify_heapam.c as of 18, without what it says of columns'
 *   values and of TOAST);
 * - no t_ctid has offset 0, and none of a tuple with xmax 0 points to its own number in another block.
 *
 * So 1 may be a false alarm (a row that was not committed). Returns the number of 1s. Reads only within the pages.
 */
size_t pgq_compaction_suspect_tuples(const void *pages, size_t n, uint32_t first_block,
                                     const pgq_compaction_tuple_bounds *bounds, uint8_t suspect[]);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
