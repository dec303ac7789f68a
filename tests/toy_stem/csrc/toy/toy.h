/* SPDX-License-Identifier: PostgreSQL */
/* The largest number of an array. One kind of kernel, `toy_largest`. */
#ifndef PGQUERN_TOY_H
#define PGQUERN_TOY_H

#include "common/common.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Writes the largest of n numbers to *largest. Refused: PGQ_NULL if a pointer is NULL, PGQ_TOY_EMPTY if n is 0, both
 * with index 0; *largest then stays as it was. Upstream: none, this is an example.
 */
typedef pgq_status (*pgq_toy_largest_fn)(const uint32_t array[], size_t n, uint32_t *largest);

typedef struct pgq_toy_largest_variant {
    const char *name;
    const char *description;
    bool (*supported)(void);
    pgq_toy_largest_fn fn;
} pgq_toy_largest_variant;

extern const pgq_toy_largest_variant pgq_toy_largest_variants[];
extern const size_t pgq_toy_largest_variant_count;

/* By the dispatched variant. */
pgq_status pgq_toy_largest(const uint32_t array[], size_t n, uint32_t *largest);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
