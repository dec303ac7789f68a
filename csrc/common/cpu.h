/* SPDX-License-Identifier: PostgreSQL */
/*
 * What this CPU can run. Each function below is one level, and serves as `supported` of the variants that need it: the
 * CPU has the instructions, the operating system saves the registers, and PGQUERN_CPU does not hide them. A source
 * file is compiled for the level that its name ends in (csrc/rules.mk), so that a compiler cannot use more. A machine
 * has its own levels only: those of others are neither compiled nor words of PGQUERN_CPU there.
 *
 * Internal: not installed, not seen by the bindings. pgq_cpu() of common.h tells the level.
 */
#ifndef PGQUERN_CPU_H
#define PGQUERN_CPU_H

#include <stdbool.h>

bool pgq_cpu_any(void);         /* x86-64, or another architecture: always true */
bool pgq_cpu_avx2(void);        /* AVX2, BMI1, BMI2, POPCNT, LZCNT */
bool pgq_cpu_avx512(void);      /* the above and AVX-512 F, BW, DQ, VL: Intel's servers from Skylake on */
bool pgq_cpu_avx512vbmi2(void); /* the above and AVX-512 VBMI2: Ice Lake, Zen 4 and later */
bool pgq_cpu_neon(void);        /* NEON, which each CPU of 64-bit ARM has */

bool pgq_cpu_is_intel(void); /* no level: where the way to ask for memory in advance depends on the maker */

#endif
