/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's loop, which the compiler may vectorise with AVX2. */
#if defined(__AVX2__)
#include "tornpage/upstream_loop.h"

DEFINE_CHECKSUM(upstream_avx2, upstream_fold, no_groups)
#endif
