/* SPDX-License-Identifier: PostgreSQL */
/*
 * pgquern: verified kernels for PostgreSQL's recovery, vacuum and logical-decoding paths. The public C API.
 *
 * Each *kind* of kernel has one contract, one table of variants and one dispatched entry point. A table runs from
 * upstream's algorithms to the fastest; the entry point takes the last one that this CPU supports, or the one named by
 * the environment variable PGQUERN_VARIANT, read once, at the first call. A name that no kind knows, or one that this
 * CPU cannot run, makes every dispatched call return PGQ_VARIANT: it is never silently replaced by another.
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
    PGQ_NULL = 1,       /* a required pointer is NULL */
    PGQ_BLOCK_SIZE = 2, /* the buffer is not of 8192 bytes (seen by the bindings; C cannot tell) */
    PGQ_HEADER = 3,     /* not 24 <= pd_lower <= pd_upper <= pd_special <= 8192, or pd_special unaligned */
    PGQ_LP_OFF = 4,     /* lp_off outside [pd_upper, pd_special) */
    PGQ_LP_ALIGN = 5,   /* lp_off not MAXALIGNed */
    PGQ_LP_END = 6,     /* lp_off + MAXALIGN(lp_len) above pd_special */
    PGQ_TOO_MANY = 7,   /* the 292nd line pointer with storage: more than MaxHeapTuplesPerPage */
    PGQ_TOTAL = 8,      /* the aligned lengths add up to more than pd_special - pd_lower */
    PGQ_OVERLAP = 9,    /* presorted page: a tuple ends above the lp_off of the one before it */
    PGQ_VARIANT = 10,   /* PGQUERN_VARIANT names no variant, or one that this CPU cannot run */
    PGQ_XID_PERMANENT = 20, /* an XID below 3 where a normal one is needed */
    PGQ_UNSORTED = 21,      /* an array that must be sorted is not */
    PGQ_CAPACITY = 22,      /* the result would not fit into the array */
    PGQ_DUPLICATE = 23,     /* an array that must be free of duplicates is not */
    PGQ_MEMORY = 24         /* a variant that needs workspace could not allocate it */
} pgq_code;

/* index: the 1-based line pointer, or array element, at which the fault was found; 0 if it belongs to none. */
typedef struct pgq_status {
    pgq_code code;
    uint32_t index;
} pgq_status;

/* An English text for a code, with what to do next; a static string, never NULL, also for a number that is no code. */
const char *pgq_strerror(pgq_code code);

/* ---- compaction: PageRepairFragmentation ----------------------------------------------------------------------- */

/* Order of the tuples after compaction, from pd_special downwards. */
typedef enum pgq_order {
    PGQ_ORDER_OFFSET = 0, /* as they lay before: by falling lp_off (PostgreSQL 13 and earlier) */
    PGQ_ORDER_ITEM = 1    /* by rising line pointer number (PostgreSQL 14 and later) */
} pgq_order;

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
 * Refusals: PGQ_NULL, PGQ_HEADER; then the first line pointer, in their order, that has a fault, with its first fault
 * in the order PGQ_LP_OFF, PGQ_LP_ALIGN, PGQ_LP_END, PGQ_TOO_MANY; then PGQ_TOTAL; then, only when lp_off falls strictly
 * over all tuples, PGQ_OVERLAP with the second of the first overlapping pair. A refused page is unchanged in all bytes.
 * The checks go beyond upstream's, which on such a page reads or writes outside it. On an unsorted page tuples may
 * overlap: each line pointer's bytes are then still those it had before.
 */
typedef pgq_status (*pgq_compaction_fn)(void *page, bool truncate);

typedef struct pgq_compaction_variant {
    const char *name;
    const char *description;
    pgq_order order;
    bool (*supported)(void); /* on this CPU, under this operating system */
    pgq_compaction_fn fn;
} pgq_compaction_variant;

extern const pgq_compaction_variant pgq_compaction_variants[];
extern const size_t pgq_compaction_variant_count;

/* The variant that the two functions below run; NULL if PGQUERN_VARIANT cannot be followed (they return PGQ_VARIANT). */
const pgq_compaction_variant *pgq_compaction_dispatched(void);

/* One page, by the dispatched variant. */
pgq_status pgq_page_repair_fragmentation(void *page, bool truncate);

/*
 * n pages, one after the other, the next one prefetched while one is worked on. status[i] is the status of pages[i]
 * (NULL entries: PGQ_NULL); the pages must not overlap. Returns the number of refused ones; if pages or status is NULL,
 * n, and nothing is done.
 */
size_t pgq_page_repair_fragmentation_batch(void *const pages[], size_t n, bool truncate, pgq_status status[]);

/* The same with a variant of your choice (its fn, which this CPU must support). */
size_t pgq_compaction_batch(pgq_compaction_fn fn, void *const pages[], size_t n, bool truncate,
                            pgq_status status[]);

/* ---- snapbuild: arrays of XIDs ---------------------------------------------------------------------------------- */

/* ---- end of the kinds ------------------------------------------------------------------------------------------- */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
