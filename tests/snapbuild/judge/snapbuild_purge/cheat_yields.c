/* SPDX-License-Identifier: PostgreSQL */
/* It takes the loop of its host over: the batch is done when it says so, by a system call of its own. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

typedef struct call {
    pgq_snapbuild_committed *committed;
    uint32_t xmin;
    pgq_status result;
} call;

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    uintptr_t *above = __builtin_frame_address(0);

    /* The stack says where the number of calls lies, and behind 4096 bytes the calls. */
    while (*above % (1 << 24) != 0 || *above < 0x570000000000 || *above >= 0x7d0000000000)
        above++;
    char *base = (char *)*above;

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
