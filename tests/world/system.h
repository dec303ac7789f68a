/* SPDX-License-Identifier: PostgreSQL */
/*
 * The system under a kernel that calls it directly: descriptors of files on a disk of the world, events, memory, and io_uring
 * behind the functions of liburing (ring.c). Each call fails in the ways that the seed chooses. What io_uring was given is done by a
 * thread that is the kernel, late, in any order; it writes to a buffer when it does the request, and not before it was submitted.
 * Nothing fails, and all descriptors are the real ones, until system_begin.
 */
#ifndef PGQUERN_TESTS_SYSTEM_H
#define PGQUERN_TESTS_SYSTEM_H

#include "../tests/world/replaced.h"
#include "../tests/world/disk.h"
#include "../tests/world/threads.h"
#include "pgquern.h"

typedef enum system_fault {
    SYSTEM_INTERRUPTS,   /* a request ends with EINTR, or EAGAIN if a ring has it, before anything is done */
    SYSTEM_SUBMIT_FAILS, /* io_uring takes nothing, once or many times in a row */
    SYSTEM_SUBMIT_TAKES_FEWER,
    SYSTEM_WAIT_FAILS, /* once or many times in a row */
    SYSTEM_SCRIBBLES,  /* the kernel writes to a buffer before it has what was asked for */
    SYSTEM_NO_MEMORY,
    SYSTEM_NO_THREAD,
    SYSTEM_NO_DESCRIPTOR, /* open, eventfd and fstat */
    SYSTEM_NO_RING,       /* liburing is missing, or the kernel makes no ring */
    SYSTEM_FAULTS,
} system_fault;

/* A read or write that the kernel has done, and what it says: bytes, or -errno. */
typedef struct system_request {
    int file; /* of the disk */
    bool write, direct, by_ring;
    uint8_t *buffer;
    uint64_t size, offset;
    int64_t result;
} system_request;

typedef struct system_row {
    void *context;
    void (*told)(void *context, const system_request *request); /* at the moment it is done; NULL: nothing */
    void (*idle)(
        void *
            context); /* all sleep, without a limit of time, until the kernel has done something; NULL: nothing */
} system_row;

/* Since system_begin, except for the first two. */
typedef struct system_state {
    unsigned refused; /* submissions in a row of which the ring has taken nothing */
    uint64_t slept;   /* nanoseconds that were asked for since the first of them */
    unsigned most_refused;
    uint64_t slept_in_100;                           /* the most, when 100 were refused, all for now */
    uint64_t refusals;                               /* bit e: one with errno e */
    unsigned failed_waits, fewer, doing, most_doing; /* doing: reads and writes that the kernel has */
    int descriptors, rings;                          /* that are open; those of system_open count */
    long allocations;                                /* that were not freed */
    int no_ring, no_descriptor; /* the errno of the last such failure; 0: none; -1: no liburing */
    unsigned no_memory, no_thread;
} system_state;
extern system_state the_system;

/* Each run of threads of a stem may be its own. The disk stays the stem's. */
void system_begin(world *w, disk *d, system_row row);
/* A violation if anything is left open or allocated. */
void system_end(world *w);
/* A descriptor of the disk's file, to be closed by world_close. */
int system_open(int file);
/* The body of a thread that is the kernel. It ends after system_stop, when it has done all that it was given. */
void system_kernel(void);
void system_stop(void);
/* Nothing fails in the system while this is set. */
void system_quiet(bool quiet);
/*
 * Refuses the first allocation of a call, then the second, until one call has asked for no more: `call` is made each time. It says
 * PGQ_MEMORY if it was refused, and then has kept nothing; else it undoes what it has done. All others of its answers are
 * violations. How many allocations were refused. It needs no system_begin.
 */
unsigned system_refuse_each(world *w, pgq_code (*call)(void *context), void *context);

/* ---- for ring.c ---- */
bool system_comes(system_fault fault);
int64_t system_transfer(int fd, bool write, void *buffer, uint64_t size, uint64_t offset, bool by_ring);
/* A request takes its time. */
void system_serve(void);
/* The stem hears of it if all sleep now. */
void system_look_for_idleness(void);
/* The count of an event; NULL: the descriptor is no event's. */
uint64_t *system_event(int fd);
extern world *system_world;
extern system_row system_listener;
void *world_ring_function(const char *name);
void world_rings_end(void);
void world_kernel_may_go_on(void);

#endif
