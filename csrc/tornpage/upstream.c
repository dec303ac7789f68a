/* SPDX-License-Identifier: PostgreSQL */
/* As a server for any CPU of its kind has it: on x86-64 the compiler may use SSE2 only, on ARM NEON. */
#include "tornpage/upstream_loop.h"

DEFINE_CHECKSUM(upstream, upstream_fold, no_groups)
