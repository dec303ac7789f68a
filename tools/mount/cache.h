/* SPDX-License-Identifier: PostgreSQL */
/*
 * Pages of relation files that were read or written: in memory, and on an SSD below it, by csrc/tiercache. A write goes to
 * pages.h first; so nothing is here alone, the SSD may be lost at any time, and each mount begins with an empty one.
 *
 * A file has a window of the cache's pages. A new window is how a file's pages are forgotten, all at once; none is used twice.
 */
#ifndef PGQUERN_MOUNT_CACHE_H
#define PGQUERN_MOUNT_CACHE_H

#include "pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file has now, of whole pages; zeros behind its end. 0, or -errno. */
typedef int (*cache_below)(relfile *file, uint8_t *bytes, size_t size, uint64_t at);

/*
 * Room for so many bytes of pages in memory, and on the SSD, a file or a device; NULL: without one. 0, or -errno: then it has
 * said why. The file is made if it is missing; one that has other contents is refused.
 */
int cache_open(cache_below below, uint64_t memory, const char *ssd, uint64_t ssd_size);
/* Its own thread, if there is a cache. 0, or -errno. */
int cache_start(void);
/* Nobody reads or writes any more. */
void cache_close(void);

uint64_t cache_new_window(void);
/* Whether a page of a window comes here: not if there is no cache, nor behind the first gigabyte of a file. */
bool cache_takes(uint64_t window, uint64_t number);

/* A page of the file, which is not written meanwhile. 0, or -errno. */
int cache_read(relfile *file, uint64_t window, uint64_t number, uint8_t *page);
/* pages.h has it already, and nobody reads or writes this page meanwhile. */
void cache_write(uint64_t window, uint64_t number, const uint8_t *page);

/* Its reads by what answered; ssd_in_use: false if it has failed, or there is none. on: false if there is no cache. */
typedef struct cache_figures {
    bool on, ssd_in_use;
    uint64_t memory_hits, ssd_hits, below;
} cache_figures;
cache_figures cache_now(void);

#endif
