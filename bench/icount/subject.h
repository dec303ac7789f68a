/* SPDX-License-Identifier: PostgreSQL */
/* What a stem's icount.c provides for step.c and emulated.c: inputs of a given shape, and the call on one of them that is counted. */
#ifndef BENCH_ICOUNT_SUBJECT_H
#define BENCH_ICOUNT_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the variant and the words of the shape. False if this CPU lacks the variant or the words are no shape. */
bool subject_choose(const char *variant, int words, char **shape);

/* Makes an input and runs the kernel on it, uncounted: the first call resolves libc's functions (lazy binding). */
bool subject_warm_up(void);

/* Makes the next input; uncounted. */
void subject_next(void);

/* Runs the kernel on that input: these instructions are counted. False if the kernel refused it. Not to be inlined. */
bool counted_call(void);

/* splitmix64, for inputs: the same ones on each run and each machine. */
static inline uint64_t subject_random(void)
{
    static uint64_t state = 7;
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Defines subject_find_KIND(variant): its function; NULL if the kind has none of that name, or this CPU lacks it. */
#define SUBJECT_KIND(kind)                                                                                   \
    static pgq_##kind##_fn subject_find_##kind(const char *variant)                                          \
    {                                                                                                        \
        for (size_t i = 0; i < pgq_##kind##_variant_count; i++)                                              \
            if (strcmp(pgq_##kind##_variants[i].name, variant) == 0 && pgq_##kind##_variants[i].supported()) \
                return pgq_##kind##_variants[i].fn;                                                          \
        return NULL;                                                                                         \
    }

#endif
