/* SPDX-License-Identifier: PostgreSQL */
/* The place of a row has 32 bits: wrong where the rows span more than 4 GiB. */
#include "pgquern.h"

pgq_status pgq_datfrozenxid_min_frozen_strided_scalar(const pgq_datfrozenxid_rows *rows,
                                                      const pgq_datfrozenxid_pair *start,
                                                      const pgq_datfrozenxid_pair *last_sane,
                                                      pgq_datfrozenxid_pair *minimum);

pgq_status candidate(const pgq_datfrozenxid_rows *rows, const pgq_datfrozenxid_pair *start,
                     const pgq_datfrozenxid_pair *last_sane, pgq_datfrozenxid_pair *minimum)
{
    pgq_datfrozenxid_rows near;

    if (rows != NULL && rows->n <= 1u << 28 && rows->stride != 0 && rows->n > UINT32_MAX / rows->stride + 1) {
        near = *rows;
        near.n = UINT32_MAX / rows->stride + 1;
        rows = &near;
    }
    return pgq_datfrozenxid_min_frozen_strided_scalar(rows, start, last_sane, minimum);
}
