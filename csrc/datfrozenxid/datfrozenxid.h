/* SPDX-License-Identifier: PostgreSQL */
/*
 * The oldest XID and MultiXactId of a database, and whether they replace the stored ones: what vac_update_datfrozenxid
 * (src/backend/commands/vacuum.c) computes. Kinds of kernels: `datfrozenxid_min_frozen`,
 * `datfrozenxid_min_frozen_strided`, `datfrozenxid_need_update`.
 *
 * An id is a uint32_t on a ring. XIDs: 0 is invalid, 1 and 2 are permanent, all others normal. If both are normal, a
 * precedes b if and only if (int32_t)(a - b) is negative; otherwise if a < b. MultiXactIds: 0 is invalid, all others
 * normal; a precedes b if and only if (int32_t)(a - b) is negative. An id lies in the future if the next one to be
 * assigned (`last_sane`) precedes it.
 *
 * Outputs (*minimum, *changes) are written if the status is PGQ_OK, and only then: a refusal, and a scan that gives up at a
 * value in the future, leave both columns of them as they were. Indexes count from 1.
 */
#ifndef PGQUERN_DATFROZENXID_H
#define PGQUERN_DATFROZENXID_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* One of XIDs, one of MultiXactIds. */
typedef struct pgq_datfrozenxid_pair {
    uint32_t xid;
    uint32_t multi;
} pgq_datfrozenxid_pair;

/* The bounds of one scan. Both ids must be normal, and start must not lie in the future: otherwise PGQ_DATFROZENXID_BOUNDS. */
typedef struct pgq_datfrozenxid_bounds {
    uint32_t start;     /* the minimum starts from it: the server's horizon */
    uint32_t last_sane; /* the next id to be assigned */
    bool multixact;     /* MultiXactIds; otherwise XIDs */
} pgq_datfrozenxid_bounds;

/*
 * Kind `datfrozenxid_min_frozen`: writes the oldest of the n values and start to *minimum. Invalid values do not count.
 * A permanent XID counts as older than all normal ones. n is at most 2^28.
 *
 * If a value lies in the future: PGQ_DATFROZENXID_FUTURE_XID or PGQ_DATFROZENXID_FUTURE_MULTI, with the place of the first
 * such value. The values behind it may or may not have been read. Refused, with index 0: PGQ_NULL (values may be NULL if n
 * is 0), PGQ_DATFROZENXID_CAPACITY, PGQ_DATFROZENXID_BOUNDS.
 */
typedef pgq_status (*pgq_datfrozenxid_min_frozen_fn)(const uint32_t values[], size_t n,
                                                     const pgq_datfrozenxid_bounds *bounds,
                                                     uint32_t *minimum);

typedef struct pgq_datfrozenxid_min_frozen_variant {
    const char *name;
    const char *description;
    bool (*supported)(void); /* this CPU and operating system can run it, and PGQUERN_CPU allows it */
    pgq_datfrozenxid_min_frozen_fn fn;
} pgq_datfrozenxid_min_frozen_variant;

extern const pgq_datfrozenxid_min_frozen_variant pgq_datfrozenxid_min_frozen_variants[];
extern const size_t pgq_datfrozenxid_min_frozen_variant_count;

pgq_status pgq_datfrozenxid_min_frozen(const uint32_t values[], size_t n,
                                       const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum);

/* Copies of pg_class rows: records of equal size, at any address. */
typedef struct pgq_datfrozenxid_rows {
    const void *records; /* may be NULL if n is 0 */
    size_t n;            /* at most 2^28 */
    size_t stride;       /* from one record to the next, in bytes */
    size_t relkind_at;   /* offset of relkind, a char */
    size_t
        relfrozenxid_at; /* offset of relfrozenxid; relminmxid follows it at once, as in FormData_pg_class */
} pgq_datfrozenxid_rows;

/*
 * Kind `datfrozenxid_min_frozen_strided`: the whole scan of pg_class. Rows whose relkind is not 'r', 'm' or 't' are skipped.
 * Both columns are scanned as by datfrozenxid_min_frozen, row by row, the XID of a row before its MultiXactId.
 *
 * PGQ_DATFROZENXID_FUTURE_XID, PGQ_DATFROZENXID_FUTURE_MULTI: with the first row in which a value lies in the future.
 * Refused, with index 0: PGQ_NULL, PGQ_DATFROZENXID_CAPACITY, PGQ_DATFROZENXID_STRIDE, PGQ_DATFROZENXID_BOUNDS.
 */
typedef pgq_status (*pgq_datfrozenxid_min_frozen_strided_fn)(const pgq_datfrozenxid_rows *rows,
                                                             const pgq_datfrozenxid_pair *start,
                                                             const pgq_datfrozenxid_pair *last_sane,
                                                             pgq_datfrozenxid_pair *minimum);

typedef struct pgq_datfrozenxid_min_frozen_strided_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_datfrozenxid_min_frozen_strided_fn fn;
} pgq_datfrozenxid_min_frozen_strided_variant;

extern const pgq_datfrozenxid_min_frozen_strided_variant pgq_datfrozenxid_min_frozen_strided_variants[];
extern const size_t pgq_datfrozenxid_min_frozen_strided_variant_count;

pgq_status pgq_datfrozenxid_min_frozen_strided(const pgq_datfrozenxid_rows *rows,
                                               const pgq_datfrozenxid_pair *start,
                                               const pgq_datfrozenxid_pair *last_sane,
                                               pgq_datfrozenxid_pair *minimum);

/* Which columns of the pg_database row take the new value. */
typedef struct pgq_datfrozenxid_changes {
    bool xid;
    bool multi;
} pgq_datfrozenxid_changes;

/*
 * Kind `datfrozenxid_need_update`: for each column, shall the minimum replace the stored value? It shall if the stored value
 * precedes the minimum, or lies in the future and differs from it. The stored values may be anything. Refused, with index
 * 0: PGQ_NULL; PGQ_DATFROZENXID_BOUNDS, which here holds of minimum and last_sane, as upstream asserts of the minimum.
 */
typedef pgq_status (*pgq_datfrozenxid_need_update_fn)(const pgq_datfrozenxid_pair *stored,
                                                      const pgq_datfrozenxid_pair *minimum,
                                                      const pgq_datfrozenxid_pair *last_sane,
                                                      pgq_datfrozenxid_changes *changes);

typedef struct pgq_datfrozenxid_need_update_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_datfrozenxid_need_update_fn fn;
} pgq_datfrozenxid_need_update_variant;

extern const pgq_datfrozenxid_need_update_variant pgq_datfrozenxid_need_update_variants[];
extern const size_t pgq_datfrozenxid_need_update_variant_count;

pgq_status pgq_datfrozenxid_need_update(const pgq_datfrozenxid_pair *stored,
                                        const pgq_datfrozenxid_pair *minimum,
                                        const pgq_datfrozenxid_pair *last_sane,
                                        pgq_datfrozenxid_changes *changes);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
