/* SPDX-License-Identifier: PostgreSQL */
/*
 * liburing, loaded when it is first needed: a machine without it runs all that needs no io_uring. HAVE_LIBURING is 0 where
 * its header is missing too. Internal: not installed, not seen by the bindings.
 *
 * That is all that stems share. Each has a loop of its own, since one thread that reads ahead for itself submits in batches, joins
 * neighbours and gives up what the kernel will not take to pread, while a reaper that serves many threads hears a bell, counts
 * what the kernel has, and takes out of the ring what must fail.
 */
#ifndef PGQUERN_URING_H
#define PGQUERN_URING_H

#if defined(__linux__) && __has_include(<liburing.h>)
#define HAVE_LIBURING 1
#include <liburing.h>
#include <stdbool.h>

/* The functions of liburing that are no inline functions of its header. */
typedef struct liburing {
    int (*queue_init)(unsigned entries, struct io_uring *ring, unsigned flags);
    void (*queue_exit)(struct io_uring *ring);
    struct io_uring_sqe *(*get_sqe)(struct io_uring *ring);
    int (*submit)(struct io_uring *ring);
    int (*submit_and_wait)(struct io_uring *ring, unsigned wait_nr);
    int (*wait_cqes)(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned wait_nr,
                     struct __kernel_timespec *timeout, sigset_t *signals);
    unsigned (*peek_batch_cqe)(struct io_uring *ring, struct io_uring_cqe **cqes, unsigned count);
    int (*register_buffers)(struct io_uring *ring, const struct iovec *buffers, unsigned count);
} liburing;

/* False if there is none. The library stays loaded until the process ends. */
bool pgq_liburing_load(liburing *lib);
#else
#define HAVE_LIBURING 0
#endif

#endif
