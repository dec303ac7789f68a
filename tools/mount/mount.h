/* SPDX-License-Identifier: PostgreSQL */
/* What all parts of the mount share: its options, its counters, and how it speaks. */
#ifndef PGQUERN_MOUNT_H
#define PGQUERN_MOUNT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 8192u /* PostgreSQL's block; another block size is not served */

typedef struct mount_options {
    const char *data, *mountpoint; /* absolute, without links */
    uint64_t memory;               /* bytes of pages that wait for their write-back */
    uint64_t cache,
        ssd_size;    /* bytes of the cache's pages in memory (0: there is no cache), and of its SSD */
    const char *ssd; /* NULL: it has none */
    bool protect;    /* relation files go through the pages' cache and the area */
    bool wal_direct; /* pg_wal is shown as a link to the one in the data directory */
    bool foreground;
} mount_options;

extern mount_options options;

/* Counted since the mount; --status shows them by these names. */
#define COUNTERS(X)                                                                                          \
    X(requests)                                                                                              \
    X(page_reads)                                                                                            \
    X(page_writes)                                                                                           \
    X(page_fsyncs)                                                                                           \
    X(pages_protected)                                                                                       \
    X(area_writes)                                                                                           \
    X(area_bytes)                                                                                            \
    X(syncs)                                                                                                 \
    X(writes_of_part_of_a_page)                                                                              \
    X(pages_unprotected)                                                                                     \
    X(failures)                                                                                              \
    X(repaired_at_mount)

struct counters {
#define X(name) atomic_ullong name;
    COUNTERS(X)
#undef X
};
extern struct counters counts;

/* What a call of the system returns, as all of ours return it: -errno if it has failed. */
#define SYS(call) ((call) < 0 ? -errno : 0)

/* All the bytes, in their place. */
int write_all(int fd, const uint8_t *bytes, size_t size, uint64_t at);

/* To stderr while there is one, and to syslog; what was said last stands in --status, too. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *last_said(void);

#endif
