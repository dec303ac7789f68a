/* SPDX-License-Identifier: PostgreSQL */
/* What was done for whom, and how long it took: what --status shows. */
#ifndef PGQUERN_MOUNT_FIGURES_H
#define PGQUERN_MOUNT_FIGURES_H

#include <stddef.h>
#include <stdint.h>

/* read, write, sync: of relation files, as the server asks for them. disk: what went to the files below, by the shares. */
#define KINDS_OF(X) X(READ, "read") X(WRITE, "write") X(SYNC, "sync") X(DISK, "disk")

typedef enum figure {
#define X(kind, name) FIGURE_##kind,
    KINDS_OF(X)
#undef X
        FIGURES
} figure;

/* CLOCK_MONOTONIC, in ns. */
uint64_t figures_clock(void);

/* What the thread's asker had done from `since` to now. */
void figures_add(figure what, uint64_t bytes, uint64_t since);

/*
 * The whole text of the status file, to text; its length. A line is a name and a value, but for these:
 * class NAME SHARE QUEUE; done NAME KIND REQUESTS BYTES MEDIAN P99, in ns, each at most a quarter too high.
 */
size_t figures_text(char *text, size_t size);

#endif
