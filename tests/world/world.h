/* SPDX-License-Identifier: PostgreSQL */
/*
 * A world that fails in every way, replayed from a seed. A stem writes tests/STEM/world.c: what one run does, step by step, on
 * disks of this world (disk.h), and what must hold. The driver (main.c) runs it for many seeds. If a run finds a violation,
 * the driver takes steps away while it still finds one, and prints what is left.
 *
 * Each step draws its random numbers from (seed, number of the step) alone, so a step does the same whatever was taken away
 * before it. The same seed gives the same run on every machine.
 */
#ifndef PGQUERN_TESTS_WORLD_H
#define PGQUERN_TESTS_WORLD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may go wrong. Each seed chooses some of these and how often they come (swarm testing: Groce et al., ISSTA 2012), so
   that rare combinations come up, and common ones do not hide them. */
typedef enum world_fault {
    WORLD_POWER_LOSS, /* the machine stops; the kernel's cache is gone, and any subset of what was not synced has landed */
    WORLD_KILL,        /* the process stops; the kernel's cache stays */
    WORLD_READ_FAILS,  /* once */
    WORLD_WRITE_FAILS, /* once; it lands wholly, partly or not */
    WORLD_SYNC_FAILS,  /* once; what was written lands wholly, partly or not */
    WORLD_SYNC_FORGETS, /* after a failed sync the written pages count as clean, as in Linux; without it they stay dirty */
    WORLD_SHORT,     /* a read or write moves fewer bytes than it was asked to */
    WORLD_BAD_RANGE, /* some sectors can be neither read nor written for a while */
    WORLD_NO_SPACE,  /* writes fail for a while */
    WORLD_REPLACED, /* a file comes back older, as another's, as zeros, shorter, or not at all: the stem says when */
    WORLD_FAULTS,
} world_fault;

typedef struct world {
    uint64_t seed, stream;
    uint32_t rate[WORLD_FAULTS]; /* a fault comes once in so many operations; 0: never in this run */
    bool violated, tracing;
    char message[400];
} world;

/* ---- randomness ---- */
uint64_t world_random(world *w);               /* 64 bits */
uint64_t world_below(world *w, uint64_t n);    /* 0 to n - 1; n > 0 */
bool world_one_in(world *w, uint32_t n);       /* true once in n times; never if n is 0 */
bool world_comes(world *w, world_fault fault); /* does this fault come now? */

/* ---- randomness of the system: getrandom and getentropy give bytes from the seed ---- */
extern bool world_no_entropy; /* they fail while it is set */
void world_seed_entropy(uint64_t seed);

/* ---- what a run says ---- */
/* The first violation counts; the driver ends the run after this step. */
void world_violation(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of the history, printed when a violation is replayed. */
void world_says(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Counts something that must happen in some run. A stem lists these once: an X macro gives the enum and world_counts. */
void world_count(unsigned what);
#define WORLD_NAME(name) name
#define WORLD_TEXT(name) #name

/* ---- what a stem provides ---- */
extern const char *const world_counts[]; /* names, by the number that world_count takes; NULL at the end */
extern const unsigned world_steps;       /* of a run */
extern const bool
    world_tries_all_lines; /* may be left out; true: each line that asks for I/O must see each fault */
extern const unsigned world_weight; /* may be left out; 4: a quarter of the seeds must do */
void *world_begin(world *w);
void world_step(void *row, world *w, unsigned step);
void world_end(void *row, world *w); /* the last checks; gives all memory back */

#endif
