/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kind snapshot; snapbuild.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_SNAPSHOT_H
#define PGQUERN_SNAPBUILD_SNAPSHOT_H

#include "snapbuild/xid.h"

pgq_status pgq_snapbuild_snapshot_upstream(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                           size_t xip_space);
pgq_status pgq_snapbuild_snapshot_sorted(const pgq_snapbuild_committed *committed, uint32_t xip[],
                                         size_t xip_space);

#endif
