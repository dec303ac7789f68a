/* SPDX-License-Identifier: PostgreSQL */
/* The purge by AVX2, with what an entry of pgq_left_pack is in place of the table. */
#include "packed.h"

#define SOURCE "snapbuild/purge_avx2.c"
#include "purge.c"
