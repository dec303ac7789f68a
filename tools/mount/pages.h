/* SPDX-License-Identifier: PostgreSQL */
/*
 * Pages of relation files that wait in memory for their write-back. A page that was written is here until it is in its
 * place and synced; so what is read below is whole and durable. Reads see the pages that are here.
 *
 * Locks, in this order: the write-back's, which also whoever cuts, unlinks or renames a relation file holds; the range of
 * the file's bytes, between reads and writes; the mutex of the tables.
 */
#ifndef PGQUERN_MOUNT_PAGES_H
#define PGQUERN_MOUNT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct relfile relfile;

/* All return 0 (or a number of bytes), or -errno. */

/* What cache.h gives its pages: what a file has now, of whole pages; zeros behind its end. */
int pages_below(relfile *file, uint8_t *bytes, size_t size, uint64_t at);
int pages_start(int data, uint64_t memory);

/* fd: open for reading and writing, from now on the file's own. */
int pages_open(int fd, relfile **file);
/* Nobody has it open any more: writes its pages back; those of an unlinked file are dropped. */
int pages_flush(relfile *file);
/* Frees it; false: not yet, because it has pages. */
bool pages_close(relfile *file);

int64_t pages_read(relfile *file, uint8_t *bytes, size_t size, uint64_t at);
int pages_write(relfile *file, const uint8_t *bytes, size_t size, uint64_t at);
int pages_truncate(relfile *file, uint64_t size);
int pages_allocate(relfile *file, int mode, uint64_t at, uint64_t size);
int pages_fsync(relfile *file);

/*
 * The area forgets a file (ino 0: all), so that its path may mean something else. The write-back is held, until the file is
 * unlinked or renamed.
 */
int pages_forget(dev_t dev, ino_t ino);

typedef struct pages_figures {
    uint64_t dirty, most;
    bool pending; /* a batch has failed, and waits */
} pages_figures;
pages_figures pages_now(void);

#endif
