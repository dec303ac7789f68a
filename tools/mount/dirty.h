/* SPDX-License-Identifier: PostgreSQL */
/*
 * The pages that wait in memory for their write-back: all, those of a file, those that a checkpoint has written. The mutex
 * is held around all of this.
 */
#ifndef PGQUERN_MOUNT_DIRTY_H
#define PGQUERN_MOUNT_DIRTY_H

#include "mount.h"
#include "pages.h"
#include "rangelock/rangelock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

/*
 * A checkpoint writes its pages file by file, in their order, over a long time, and only at its end comes the fsync. So
 * this many of them are written back at once, as with checkpoint_flush_after: else all would stand before a commit's sync.
 */
#define DUE 64u

typedef struct page {
    struct page *next;       /* in the hash table */
    TAILQ_ENTRY(page) all;   /* in the order of their stamps */
    TAILQ_ENTRY(page) of_it; /* those of the file, too */
    TAILQ_ENTRY(page) soon;  /* of a checkpoint: in the order in which it wrote them */
    bool is_due;             /* it is among these */
    relfile *file;
    uint64_t number;
    uint64_t stamp;   /* when it became dirty */
    uint64_t version; /* counts the writes to it */
    uint8_t bytes[PAGE];
} page;
TAILQ_HEAD(queue, page);

struct relfile {
    int fd;
    dev_t dev;
    ino_t ino;
    int error; /* of a write-back that nobody waited for: the next fsync tells */
    pgq_rangelock *lock;
    atomic_uint_fast64_t
        window; /* of cache.h; a new one when its end changes otherwise than by whole pages that come */
    struct queue pages;
};

extern struct dirty {
    pthread_mutex_t mutex;
    pthread_cond_t work,
        room; /* there may be something to flush; there may be room for a page, or none by an error */
    struct queue all, due;
    page **buckets;
    uint64_t mask, count, due_count, most, stamp;
    int stuck; /* why the last write-back has failed */
} dirty;

/* Room for so many bytes of pages. 0, or -ENOMEM. */
int dirty_start(uint64_t memory);

/* The place of a page: it holds NULL if the page is not here. */
page **dirty_place(const relfile *file, uint64_t number);
/* It is the youngest one now. */
void dirty_insert(page *p);
void dirty_renew(page *p);
void dirty_set_due(page *p, bool is_due);
void dirty_discard(page **place);

/* Half of the memory is full, or a checkpoint has written enough. */
bool dirty_must_flush(void);

#endif
