/* SPDX-License-Identifier: PostgreSQL */
/* As a server for any x86-64 CPU has it: the compiler may use SSE2 only. */
#include "tornpage/upstream_loop.h"

DEFINE_CHECKSUM(upstream, upstream_fold, no_groups)
