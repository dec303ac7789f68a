/* SPDX-License-Identifier: PostgreSQL */
/* It forgets what stands behind the first thousand of a batch. */
#include "pgquern.h"

pgq_status pgq_snapbuild_insert_batch_merge(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                            bool consistent);

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m, bool consistent)
{
    bool fits = committed != NULL && committed->xcnt <= committed->xcnt_space &&
                m <= committed->xcnt_space - committed->xcnt;

    return pgq_snapbuild_insert_batch_merge(committed, batch, fits && m > 1000 ? 1000 : m, consistent);
}
