/* SPDX-License-Identifier: PostgreSQL */
/*
 * Sixteen XIDs a step: compare, compress in a register, store the whole register, and advance by the number of XIDs kept.
 * The store may reach past the XIDs kept, but not past the XIDs read, since no step keeps more than it reads. A compressing
 * store would write only the XIDs kept, but it is microcoded on Zen 4. The inner loop is printed from its proof.
 */
#include "snapbuild/blocks.h"
#include "snapbuild/purge.h"

#if defined(__AVX512F__)
#include "snapbuild/vpcompressd.h"

#include "snapbuild/keep_avx512.h"

DEFINE_PURGE(avx512)
#endif
