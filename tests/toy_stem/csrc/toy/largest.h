/* SPDX-License-Identifier: PostgreSQL */
/* What the variants share. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_TOY_LARGEST_H
#define PGQUERN_TOY_LARGEST_H

#include "common/outcome.h"
#include "toy/toy.h"

pgq_status pgq_toy_largest_upstream(const uint32_t array[], size_t n, uint32_t *largest);
pgq_status pgq_toy_largest_scalar(const uint32_t array[], size_t n, uint32_t *largest);

/* PGQ_OK, or why the call is refused. */
static inline pgq_code toy_fault(const uint32_t array[], size_t n, const uint32_t *largest)
{
    if (array == NULL || largest == NULL)
        return PGQ_NULL;
    return n == 0 ? PGQ_TOY_EMPTY : PGQ_OK;
}

#endif
