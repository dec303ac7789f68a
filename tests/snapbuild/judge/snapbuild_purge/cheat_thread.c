/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, and a thread that its constructor has started. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, wait_for_ever, NULL);
}

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
