/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's loop, which the compiler may vectorise with AVX-512. */
#if defined(__AVX512F__)
#include "tornpage/upstream_loop.h"

#define fold_upstream_avx512                           upstream_fold
#define fold_group_upstream_avx512(page, rows, folded) ((void)(folded))
DEFINE_CHECKSUM(upstream_avx512, 1)
#endif
