/* SPDX-License-Identifier: PostgreSQL */
/*
 * Reads a file block by block through io_uring, two at a time, as an example of a stem's world with the system of system.h. Its author
 * may forget things, by macros, and the world must find each (tests/world/test_world.py).
 */
#include "../tests/world/interpose.h"
#include "../tests/world/system.h"
#include "common/uring.h"

#include <string.h>

enum { BLOCK = 512, BLOCKS = 8, DEPTH = 2 };
enum { READ, FAILED };
const char *const world_counts[] = {"read", "failed", NULL};
const unsigned world_steps = 3;

typedef struct reader {
    world *world;
    disk disk;
    int fd;
} reader;

#if HAVE_LIBURING
/* In the order of their places in liburing. */
static const char *const names[] = {"io_uring_queue_init", "io_uring_queue_exit",      "io_uring_get_sqe",
                                    "io_uring_submit",     "io_uring_submit_and_wait", "io_uring_wait_cqes",
                                    "io_uring_peek_batch_cqe"};
_Static_assert(sizeof names + sizeof(void (*)(void)) == sizeof(liburing), "all but io_uring_register_buffers");

static bool load(liburing *lib)
{
    void *library = dlopen("liburing.so.2", RTLD_NOW), *found;

    for (size_t i = 0; library != NULL && i < sizeof names / sizeof names[0]; i++) {
        found = dlsym(library, names[i]);
        memcpy((char *)lib + i * sizeof found, &found, sizeof found);
    }
    return library != NULL;
}

/* true: the block is there. */
static bool ended(reader *r, const struct io_uring_cqe *cqe, const uint8_t *bytes)
{
    uint64_t block = io_uring_cqe_get_data64(cqe);

#ifndef FORGETS_ERRORS
    if (cqe->res < 0)
        return false;
#endif
#ifndef FORGETS_SHORT_READS
    if (cqe->res >= 0 && cqe->res < BLOCK)
        return false;
#endif
    for (int i = 0; i < BLOCK; i++)
        if (bytes[i] != block + 1)
            world_violation(r->world, "block %u is not that of the file", (unsigned)block);
    return true;
}

static void read_two(reader *r, liburing *lib, struct io_uring *ring, uint64_t block)
{
    uint8_t *bytes = malloc(DEPTH * BLOCK);
    struct io_uring_cqe *cqe;
    unsigned in_flight = DEPTH;

    if (bytes == NULL)
        return;
    for (uint64_t i = 0; i < DEPTH; i++) {
        struct io_uring_sqe *sqe = lib->get_sqe(ring);

        io_uring_prep_read(sqe, r->fd, bytes + i * BLOCK, BLOCK, (block + i) * BLOCK);
        io_uring_sqe_set_data64(sqe, block + i);
    }
#ifdef SUBMITS_ONCE
    lib->submit(ring);
#else
    while (io_uring_sq_ready(ring) > 0)
        lib->submit(ring);
#endif
#ifdef FREES_EARLY
    in_flight--;
#endif
    while (in_flight > 0) {
        if (lib->wait_cqes(ring, &cqe, 1, NULL, NULL) < 0 || lib->peek_batch_cqe(ring, &cqe, 1) == 0)
            continue;
        world_count(ended(r, cqe, bytes + (io_uring_cqe_get_data64(cqe) - block) * BLOCK) ? READ : FAILED);
        io_uring_cq_advance(ring, 1);
        in_flight--;
    }
    free(bytes);
}

static void run(void *argument, unsigned number)
{
    reader *r = argument;
    struct io_uring ring;
    liburing lib;

    if (number == 1) {
        system_kernel();
        return;
    }
    if (load(&lib) && lib.queue_init(DEPTH, &ring, 0) == 0) {
        for (uint64_t block = 0; block < BLOCKS; block += DEPTH)
            read_two(r, &lib, &ring, block);
#ifndef FORGETS_THE_RING
        lib.queue_exit(&ring);
#endif
    }
    system_stop();
}
#else
static void run(void *argument, unsigned number)
{
    (void)argument;
    (void)number;
    world_count(READ);
    world_count(FAILED);
}
#endif

void *world_begin(world *w)
{
    static reader r;

    r = (reader){.world = w};
    disk_make(&r.disk, w, BLOCK, 1, (uint64_t[]){BLOCKS * BLOCK});
    r.disk.quiet = true;
    for (int block = 0; block < BLOCKS; block++) {
        uint8_t bytes[BLOCK];

        memset(bytes, block + 1, BLOCK);
        disk_write(&r.disk, 0, bytes, BLOCK, (uint64_t)block * BLOCK);
    }
    r.disk.quiet = false;
    return &r;
}

void world_step(void *row, world *w, unsigned step)
{
    reader *r = row;

    (void)step;
    system_begin(w, &r->disk, (system_row){NULL, NULL, NULL});
    r->fd = system_open(0);
    world_run_threads(w, 2, run, r);
    close(r->fd);
    system_end(w);
}

void world_end(void *row, world *w)
{
    reader *r = row;

    (void)w;
    disk_free(&r->disk);
}
