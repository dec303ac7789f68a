/* SPDX-License-Identifier: PostgreSQL */
#ifndef PGQUERN_SNAPBUILD_VPCOMPRESSD_H
#define PGQUERN_SNAPBUILD_VPCOMPRESSD_H

#include <immintrin.h>

/*
 * Packs the lanes of v that m selects to the bottom, with zeroes above. It is in assembler so that source and destination
 * are one register: on Zen 5 the instruction waits for the old value of its destination, even if that is zeroed.
 */
static inline __m512i vpcompressd(__mmask16 m, __m512i v)
{
    __asm__("vpcompressd %0, %0%{%1%}%{z%}" : "+v"(v) : "Yk"(m));
    return v;
}

#endif
