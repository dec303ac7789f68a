/* SPDX-License-Identifier: PostgreSQL */
/* The intrinsics of avx512.def on this CPU; two instructions in assembler, as the kernels have them. */
#include "../tests/instructions/machine.h"
#include "common/cpu.h"
#include <immintrin.h>

typedef struct words {
    int16_t w[32];
} words;

#define OF_WORDS(f, a)                                                                                       \
    f(a.w[0], a.w[1], a.w[2], a.w[3], a.w[4], a.w[5], a.w[6], a.w[7], a.w[8], a.w[9], a.w[10], a.w[11],      \
      a.w[12], a.w[13], a.w[14], a.w[15], a.w[16], a.w[17], a.w[18], a.w[19], a.w[20], a.w[21], a.w[22],     \
      a.w[23], a.w[24], a.w[25], a.w[26], a.w[27], a.w[28], a.w[29], a.w[30], a.w[31])

/* Of the other half nothing is defined. */
#define LOWER_HALF(f, a) _mm512_castsi512_si256(f(a))

#if defined(PGQUERN_LANES_H)
#define vpcompressd lanes_vpcompressd
#define vpcompressq lanes_vpcompressq
#else
static inline __m512i vpcompressd(__mmask16 m, __m512i v)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

static inline __m512i vpcompressq(__mmask8 m, __m512i v)
{
    __asm__("vpcompressq %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}
#endif

#include "../tests/instructions/functions.h"
#include "../tests/instructions/avx512.def"
#include "../tests/instructions/lines.h"

static const instruction table[] = {
#include "../tests/instructions/avx512.def"
};

const level instructions_avx512 = {"avx512", pgq_cpu_avx512, table, sizeof table / sizeof *table};
