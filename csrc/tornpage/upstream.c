/* SPDX-License-Identifier: PostgreSQL */
/* As a server for any x86-64 CPU has it: the compiler may use SSE2 only. */
#include "tornpage/upstream_loop.h"

#define fold_upstream                           upstream_fold
#define fold_group_upstream(page, rows, folded) ((void)(folded))
DEFINE_CHECKSUM(upstream, 1)
