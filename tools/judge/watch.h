/* SPDX-License-Identifier: PostgreSQL */
/* What a component on trial does beside its answer: its calls are counted, and a broken contract is told. */
#ifndef PGQUERN_JUDGE_WATCH_H
#define PGQUERN_JUDGE_WATCH_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the process: the candidate breaks its contract. tools/judge/world.py reads this line. */
_Noreturn static inline void pgq_judge_breaks(const char *what)
{
    fprintf(stderr, "\njudge: %s\n", what);
    (abort)();
}

__attribute__((visibility("default"))) extern _Atomic unsigned long pgq_judge_calls_made;
__attribute__((visibility("default"))) extern unsigned long pgq_judge_open;

#endif
