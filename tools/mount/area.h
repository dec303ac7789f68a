/* SPDX-License-Identifier: PostgreSQL */
/*
 * The double-write area: a file in the data directory with one batch of pages. The batch is written and synced here before
 * any of its pages is written in place, and it stays until all of them are synced there. So a page that a crash tears in
 * place is whole here. A batch that is itself not whole (a checksum is wrong) has had no write in place: it is ignored.
 *
 * A batch names files by their paths. Whoever makes a path mean something else (unlink, rename), or cuts a file, empties
 * the area before, durably: recovery never writes a page of an older life into a file.
 *
 * One thread at a time calls: the one that holds the write-back.
 */
#ifndef PGQUERN_MOUNT_AREA_H
#define PGQUERN_MOUNT_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define AREA_NAME       ".pgquern-area"
#define AREA_PAGES      512u         /* of a batch, at most */
#define AREA_FILES      64u          /* whose pages these are, at most */
#define AREA_PATH       4096u        /* of a path, with its end */
#define AREA_HEADER     (512u << 10) /* room for the header: entries and paths */
#define AREA_BATCH_SIZE (AREA_HEADER + (size_t)AREA_PAGES * 8192u)

typedef struct area_page {
    struct relfile *file; /* whose it is, and in which version: the caller's */
    uint64_t version;
    uint64_t number;
    int fd; /* of the file */
    dev_t dev;
    ino_t ino;
    bool unlinked; /* nobody finds the file after a crash: it is not recorded */
} area_page;

/* All return 0, or -errno. data: the data directory. */

/*
 * Writes the batch that is there, if it is whole, in place again, and syncs it. *repaired: how many pages. -EEXIST: it may
 * not, because a server may have run there since, and there is a batch.
 */
int area_recover(int data, bool may, uint64_t *repaired);

/* Opens the area, which is made if there is none, and holds no batch then. */
int area_open(int data);

/*
 * Writes a batch and syncs it. Pages of a file stand together. bytes: AREA_BATCH_SIZE of them, the pages from AREA_HEADER
 * on; what is before is the area's own.
 */
int area_write(int data, const area_page *pages, unsigned n, uint8_t *bytes);

/* Whether the batch has pages of this file. */
bool area_holds(dev_t dev, ino_t ino);

/* Durably forgets the batch, if there is one. */
int area_empty(void);

/* Removes the file. */
int area_remove(int data);

#endif
