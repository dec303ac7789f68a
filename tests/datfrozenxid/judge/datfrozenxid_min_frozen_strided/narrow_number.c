/* SPDX-License-Identifier: PostgreSQL */
/* The number of a row has 16 bits. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_strided_scalar(const pgq_datfrozenxid_rows *rows,
                                                      const pgq_datfrozenxid_pair *start,
                                                      const pgq_datfrozenxid_pair *last_sane,
                                                      pgq_datfrozenxid_pair *minimum);

pgq_status candidate(const pgq_datfrozenxid_rows *rows, const pgq_datfrozenxid_pair *start,
                     const pgq_datfrozenxid_pair *last_sane, pgq_datfrozenxid_pair *minimum)
{
    pgq_datfrozenxid_rows few;

    if (rows != NULL && rows->n <= 1u << 28 && rows->n > UINT16_MAX) {
        few = *rows;
        few.n = UINT16_MAX;
        rows = &few;
    }
    return pgq_datfrozenxid_min_frozen_strided_scalar(rows, start, last_sane, minimum);
}
