/* SPDX-License-Identifier: PostgreSQL */
/* What a candidate does beside its answer: looked at before and after each of its calls. */
#ifndef PGQUERN_JUDGE_WATCH_H
#define PGQUERN_JUDGE_WATCH_H

void pgq_judge_before(void);
void pgq_judge_after(void);
long pgq_judge_blocks(void);

#endif
