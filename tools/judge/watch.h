/* SPDX-License-Identifier: PostgreSQL */
/* What a component on trial does beside its answer: a broken contract is told. */
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

#endif
