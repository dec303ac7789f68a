/* SPDX-License-Identifier: PostgreSQL */
/*
 * step.c for another machine's CPU: `emulated VARIANT SHAPE...` makes such calls, each between two marks. qemu logs all
 * instructions, and emulated.py counts those between the marks.
 */
#include "subject.h"

#include <stdio.h>

enum { CALLS = 2 }; /* as in emulated.py */

/* The marks: the log has their names. */
__attribute__((noinline)) void count_from(void);
__attribute__((noinline)) void count_to(void);

void count_from(void)
{
    __asm__ volatile("" ::: "memory");
}

void count_to(void)
{
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    if (argc < 3 || !subject_choose(argv[1], argc - 2, argv + 2)) {
        fprintf(stderr, "emulated: usage: emulated VARIANT SHAPE...; or this CPU lacks the variant\n");
        return 2;
    }
    if (!subject_warm_up())
        return 1;
    for (int i = 0; i < CALLS; i++) {
        bool good;

        subject_next();
        count_from();
        good = counted_call();
        count_to();
        if (!good)
            return 1;
    }
    return 0;
}
