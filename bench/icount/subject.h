/* SPDX-License-Identifier: PostgreSQL */
/* What a stem's icount.c provides for step.c: inputs of a given shape, and the call on one of them that is counted. */
#ifndef BENCH_ICOUNT_SUBJECT_H
#define BENCH_ICOUNT_SUBJECT_H

#include <stdbool.h>

/* Takes the variant and the words of the shape. False if this CPU lacks the variant or the words are no shape. */
bool subject_choose(const char *variant, int words, char **shape);

/* Makes an input and runs the kernel on it, uncounted: the first call resolves libc's functions (lazy binding). */
bool subject_warm_up(void);

/* Makes the next input; uncounted. */
void subject_next(void);

/* Runs the kernel on that input: these instructions are counted. False if the kernel refused it. Not to be inlined. */
bool counted_call(void);

#endif
