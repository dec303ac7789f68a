/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's loop, which the compiler may vectorise with AVX-512. */
#if defined(__AVX512F__)
#include "tornpage/upstream_loop.h"

DEFINE_CHECKSUM(upstream_avx512, upstream_fold, no_groups)
#endif
