/* SPDX-License-Identifier: PostgreSQL */
/*
 * Reads and writes of relation files, and of the area: by the scheduler of csrc/ioshares, which divides the device between
 * classes by their shares, and its threads. Log and all else do not come here. The class is that of who asks (asker.h).
 */
#ifndef PGQUERN_MOUNT_IO_H
#define PGQUERN_MOUNT_IO_H

#include "asker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return 0, or -errno. */

int io_start(void);
/* Nobody reads or writes any more. */
void io_stop(void);

/* All the bytes, or an error; -EIO if the file ends before. */
int io_read(int fd, uint8_t *bytes, size_t size, uint64_t at);
int io_write(int fd, const uint8_t *bytes, size_t size, uint64_t at);
/*
 * Has what was written from `from` to `to` go to the device; with `wait` until the device has it, which need not be durable.
 * So no more than that stands before a sync of others, the log's above all. An error that the kernel tells here, it tells no
 * sync after it.
 */
int io_push(int fd, uint64_t from, uint64_t to, bool wait);
/* fdatasync: at once, as those do who wait for it. */
int io_sync(int fd);

/*
 * "backend=500,autovacuum=50": from now on, whatever waits; a class that is not named keeps its share. Before io_start, too.
 * -EINVAL: it says what is wrong, and nothing is changed.
 */
int io_shares(const char *text);
void io_look(uint32_t shares[ASKERS]);

/* How many requests of a class wait or are on their way. */
unsigned io_queue(asker asker);

#endif
