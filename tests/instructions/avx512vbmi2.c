/* SPDX-License-Identifier: PostgreSQL */
/* The instruction of avx512vbmi2.def on this CPU, in assembler as in the kernels. */
#include "../tests/instructions/machine.h"
#include "common/cpu.h"
#include <immintrin.h>

#if defined(PGQUERN_LANES_H)
#define vpcompressw lanes_vpcompressw
#else
static inline __m512i vpcompressw(__mmask32 m, __m512i v)
{
    __asm__("vpcompressw %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}
#endif

#include "../tests/instructions/functions.h"
#include "../tests/instructions/avx512vbmi2.def"
#include "../tests/instructions/lines.h"

static const instruction table[] = {
#include "../tests/instructions/avx512vbmi2.def"
};

const level instructions_avx512vbmi2 = {"avx512vbmi2", pgq_cpu_avx512vbmi2, table,
                                        sizeof table / sizeof *table};
