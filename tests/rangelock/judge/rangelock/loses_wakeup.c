/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but a departure wakes one thread only, which may be one that cannot go. */
#include <pthread.h>

static inline int wake_one(pthread_cond_t *granted)
{
    return pthread_cond_signal(granted);
}

#undef pthread_cond_broadcast
#define pthread_cond_broadcast wake_one
#include "right.c"
