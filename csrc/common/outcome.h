/* SPDX-License-Identifier: PostgreSQL */
/* The two outcomes of a kernel. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_OUTCOME_H
#define PGQUERN_OUTCOME_H

#include "common/common.h"

#include <assert.h>

static inline pgq_status accepted(void)
{
    return (pgq_status){PGQ_OK, 0};
}

/* code: not PGQ_OK. index: 1-based, of the line pointer or array element at fault; 0 if the fault belongs to none. */
static inline pgq_status refused(pgq_code code, size_t index)
{
    assert(code != PGQ_OK);
    return (pgq_status){code, (uint32_t)index};
}

#endif
