/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kind purge_full; snapbuild.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_FULL_H
#define PGQUERN_SNAPBUILD_FULL_H

#include "snapbuild/xid.h"

pgq_status pgq_snapbuild_purge_full_upstream(pgq_snapbuild_committed_full *committed, uint64_t full_xmin);
pgq_status pgq_snapbuild_purge_full_memmove(pgq_snapbuild_committed_full *committed, uint64_t full_xmin);
pgq_status pgq_snapbuild_purge_full_lazy_head(pgq_snapbuild_committed_full *committed, uint64_t full_xmin);

#endif
