/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kind insert; snapbuild.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_INSERT_H
#define PGQUERN_SNAPBUILD_INSERT_H

#include "snapbuild/xid.h"

pgq_status pgq_snapbuild_insert_append(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                       bool consistent);
pgq_status pgq_snapbuild_insert_batch_merge(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                            bool consistent);
pgq_status pgq_snapbuild_insert_sorted_after_consistent(pgq_snapbuild_committed *committed, uint32_t batch[],
                                                        size_t m, bool consistent);

#endif
