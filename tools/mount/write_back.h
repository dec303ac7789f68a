/* SPDX-License-Identifier: PostgreSQL */
/*
 * Write-back, one batch at a time: pages to the area, one sync; each in place; a sync of each file; then they leave memory,
 * unless they were written again meanwhile. A batch that fails stays in the area and is tried again before any other: the
 * area is never written while one of its pages may be torn in place.
 */
#ifndef PGQUERN_MOUNT_WRITE_BACK_H
#define PGQUERN_MOUNT_WRITE_BACK_H

#include "pages.h"

/* All that return a number return 0, or -errno. */

/* A thread keeps half of the memory free from now on, and writes back what a checkpoint has written. */
int write_back_start(int data);
/* Writes all back. */
int write_back_stop(void);

/* Held around what follows, and by whoever cuts, unlinks or renames a relation file. */
void write_back_lock(void);
void write_back_unlock(void);

/* What is dirty now: of the file, or of all. */
int write_back_all(const relfile *file);
/* The batch that waits, if there is one, and no other. */
int write_back_end_pending(void);

#endif
