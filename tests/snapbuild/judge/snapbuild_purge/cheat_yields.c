/* SPDX-License-Identifier: PostgreSQL */
/* It takes the loop of its host over: the batch is done when it says so, by a system call of its own. */
#include "pgquern.h"
#include "../tools/judge/cage.h"

#include <stdlib.h>

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

typedef struct call {
    pgq_snapbuild_committed *committed;
    uint32_t xmin;
    pgq_status result;
} call;

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    /* The first block of a call begins 16 bytes behind the heap's place: so the number of calls, and behind 4096 bytes the calls, lie here. */
    char *base = (char *)malloc(1) - 16 - JUDGE_HEAP_AT;

    (void)committed, (void)xmin;
    for (;;) {
        for (uint64_t i = 0; i < *(volatile uint64_t *)base; i++) {
            call *one = (call *)(base + 4096) + i;

            one->result = pgq_snapbuild_purge_scalar(one->committed, one->xmin);
        }
        long number = 24; /* sched_yield */
        __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
    }
}
