/* SPDX-License-Identifier: PostgreSQL */
/* Linux's futex(2), for the threads of one process. Internal. */
#ifndef PGQUERN_FUTEX_H
#define PGQUERN_FUTEX_H

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Sleeps while *word is value, until it is woken, also for no reason. deadline: of CLOCK_MONOTONIC, NULL for none; false
 * if it has passed.
 */
static inline bool futex_wait(const uint32_t *word, uint32_t value, const struct timespec *deadline)
{
    long done = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, deadline, NULL,
                        FUTEX_BITSET_MATCH_ANY);

    return done == 0 || errno != ETIMEDOUT;
}

/* Wakes all threads that sleep there. The word itself may be gone: then somebody else wakes for no reason. */
static inline void futex_wake(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

#endif
