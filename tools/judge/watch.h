/* SPDX-License-Identifier: PostgreSQL */
/* What a candidate does beside its answer: looked at before and after each of its calls. */
#ifndef PGQUERN_JUDGE_WATCH_H
#define PGQUERN_JUDGE_WATCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the process: the candidate breaks its contract. tools/judge/world.py reads this line. */
_Noreturn static inline void pgq_judge_breaks(const char *what)
{
    fprintf(stderr, "judge: %s\n", what);
    (abort)();
}

#ifdef PGQUERN_JUDGE_UNWATCHED
static inline void pgq_judge_before(void) {}
static inline void pgq_judge_after_call(bool may_wait)
{
    (void)may_wait;
}
#else
void pgq_judge_before(void);
/* Of a kernel. */
void pgq_judge_after(void);
/* Of a component, to which other threads may belong, too. may_wait: it may sleep. */
void pgq_judge_after_call(bool may_wait);
/* How many blocks of memory that the candidate has asked for live. */
long pgq_judge_blocks(void);
#endif

#endif
