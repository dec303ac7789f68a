/* SPDX-License-Identifier: PostgreSQL */
/*
 * The intrinsics that the kernels use, each as a function from the bytes of its operands to the bytes of its
 * result: the CPU's side of proofs/instructions/Table.v, with the same names, sizes and order of operands.
 *
 * A list (avx2.def) has a line for each. It is included twice: functions.h makes functions of its lines, lines.h the
 * lines of a table. Both times a line has the same number, and so names the same function.
 */
#ifndef INSTRUCTIONS_MACHINE_H
#define INSTRUCTIONS_MACHINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MOST_OPERANDS = 4 };

typedef struct instruction {
    const char *name; /* as in C, and behind it the immediate */
    size_t sizes[MOST_OPERANDS];
    size_t width; /* of the result */
    void (*run)(const uint8_t *in, uint8_t *out);
} instruction;

typedef struct level {
    const char *name;
    bool (*supported)(void);
    const instruction *table;
    size_t n;
} level;

extern const level instructions_avx2, instructions_avx512, instructions_avx512vbmi2, instructions_neon;

/* ---- memory with an edge: window.c ---- */

/* Where a load or a store that touches what is not there goes on. */
extern sigjmp_buf window_fault;

/* n bytes, of which those that the edge leaves hold `memory`; the others are not mapped. Where they begin. */
uint8_t *window_open(uint8_t edge, const uint8_t *memory, size_t n);

/* What they hold now, and 0 for those that are not there. */
void window_read(uint8_t edge, uint8_t *memory, size_t n);

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)
#define HERE        GLUE(run_, __LINE__)

#endif
