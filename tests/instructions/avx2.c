/* SPDX-License-Identifier: PostgreSQL */
/* The intrinsics of avx2.def on this CPU. */
#include "../tests/instructions/machine.h"
#include "common/cpu.h"
#include <immintrin.h>

typedef struct words {
    int16_t w[16];
} words;

typedef struct dwords {
    int32_t w[8];
} dwords;

typedef struct qwords {
    int64_t w[4];
} qwords;

#define OF_QWORDS(f, a) f(a.w[0], a.w[1], a.w[2], a.w[3])
#define OF_DWORDS(f, a) f(a.w[0], a.w[1], a.w[2], a.w[3], a.w[4], a.w[5], a.w[6], a.w[7])
#define OF_WORDS(f, a)                                                                                       \
    f(a.w[0], a.w[1], a.w[2], a.w[3], a.w[4], a.w[5], a.w[6], a.w[7], a.w[8], a.w[9], a.w[10], a.w[11],      \
      a.w[12], a.w[13], a.w[14], a.w[15])

#include "../tests/instructions/functions.h"
#include "../tests/instructions/avx2.def"
#include "../tests/instructions/lines.h"

static const instruction table[] = {
#include "../tests/instructions/avx2.def"
};

const level instructions_avx2 = {"avx2", pgq_cpu_avx2, table, sizeof table / sizeof *table};
