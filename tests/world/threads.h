/* SPDX-License-Identifier: PostgreSQL */
/*
 * Threads of the world. One runs at a time; another goes on only at a mutex, a condition, a futex, an atomic, an operation of a
 * disk, or a look at the clock. Which one, the seed says: by a random walk, or by random priorities with a few points of
 * change (PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010). Time is simulated: it goes on by a little at each
 * look, and to the next time limit if all threads wait. A wait may end for no reason, as it may on Linux. If no thread can ever
 * go on, that is a violation.
 */
#ifndef PGQUERN_TESTS_THREADS_H
#define PGQUERN_TESTS_THREADS_H

#include <pthread.h>
#include <time.h>

#include "../tests/world/world.h"

enum { WORLD_THREADS = 16 };

/* Runs body(argument, 0) to body(argument, n - 1) as threads, until all have ended. */
void world_run_threads(world *w, unsigned n, void (*body)(void *argument, unsigned number), void *argument);
/* Another thread may go on here. Nothing happens outside of world_run_threads. */
void world_yield(void);
/* The time, in nanoseconds. */
uint64_t world_now(void);
/* For what stands in the place of the system. A wait may end for no reason; without threads it must not come to one. */
void world_wait(const void *address);
void world_wake(const void *address);
void world_sleep(uint64_t nanoseconds);
/* As the device: a request takes so long. */
void world_serve(uint64_t nanoseconds);
/* All threads but this one wait, and not for a time, unless a device makes them wait. */
bool world_others_sleep(void);
/* The same, but some may wait for a time. */
bool world_all_others_wait(void);

/* The same in each run of a seed. */
unsigned world_thread_number(void);

/* What interpose.h puts in the place of the C library's. They return what those do. Threads are made by threads only. */
int world_thread_create(pthread_t *thread, void *(*body)(void *), void *argument);
int world_thread_join(pthread_t thread);
int world_mutex_init(pthread_mutex_t *mutex);
int world_mutex_destroy(pthread_mutex_t *mutex);
int world_mutex_lock(pthread_mutex_t *mutex);
int world_mutex_unlock(pthread_mutex_t *mutex);
/* Whether the running thread holds it. No other one goes on here. */
bool world_mutex_is_mine(const pthread_mutex_t *mutex);
int world_cond_init(pthread_cond_t *condition);
int world_cond_destroy(pthread_cond_t *condition);
int world_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int world_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline);
int world_cond_wake(pthread_cond_t *condition, int most);
int world_clock(clockid_t clock, struct timespec *time);
long world_syscall(long number, ...);

#endif
