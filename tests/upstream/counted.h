/* SPDX-License-Identifier: PostgreSQL */
/*
 * Stands between a server and one of our kernels (ld --wrap): counts the calls of all processes, and can spoil answers.
 *
 * PGQUERN_COUNTS: a folder; the file of a kind's name in it gets the number of calls (8 bytes), then the level of the CPU as
 * the caller saw it. PGQUERN_BREAK: the kind whose answers are wrong.
 */
#ifndef PGQUERN_COUNTED_H
#define PGQUERN_COUNTED_H

#include "pgquern.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct counted {
    uint64_t calls;
    char level[24];
} counted;

typedef struct watched {
    const char *kind;
    counted *counted; /* shared by all processes; NULL before the first call */
    bool broken;
} watched;

static inline counted *shared_counter(const char *kind)
{
    static counted alone;
    const char *folder = getenv("PGQUERN_COUNTS");
    char path[1024];
    counted *found = MAP_FAILED;
    int file;

    if (folder == NULL)
        return &alone;
    snprintf(path, sizeof path, "%s/%s", folder, kind);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0 && ftruncate(file, sizeof alone) == 0)
        found = mmap(NULL, sizeof alone, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return found == MAP_FAILED ? &alone : found;
}

/* Counts a call. The number of the call if its answer is to be spoiled, otherwise 0. */
static inline uint64_t seen(watched *here)
{
    uint64_t before;

    if (here->counted == NULL) {
        const char *broken = getenv("PGQUERN_BREAK"), *level = pgq_cpu();

        here->broken = broken != NULL && strcmp(broken, here->kind) == 0;
        here->counted = shared_counter(here->kind);
        strncpy(here->counted->level, level != NULL ? level : "unknown", sizeof here->counted->level - 1);
    }
    before = __atomic_fetch_add(&here->counted->calls, 1, __ATOMIC_RELAXED);
    return here->broken ? before + 1 : 0;
}

#endif
