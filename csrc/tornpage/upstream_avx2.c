/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's loop, which the compiler may vectorise with AVX2. */
#if defined(__AVX2__)
#include "tornpage/upstream_loop.h"

#define fold_upstream_avx2                           upstream_fold
#define fold_group_upstream_avx2(page, rows, folded) ((void)(folded))
DEFINE_CHECKSUM(upstream_avx2, 1)
#endif
