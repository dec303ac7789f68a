/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before each kernel source that is built for the world: its threads, mutexes, conditions, futexes, atomics and clock
 * are those of threads.h, its files, memory and io_uring those of system.h. A pthread_mutex_t or pthread_cond_t has room for ours,
 * and all zeros are a free one in both.
 */
#ifndef PGQUERN_TESTS_INTERPOSE_H
#define PGQUERN_TESTS_INTERPOSE_H

#include "../tests/world/replaced.h"
#include "../tests/world/threads.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define pthread_create(thread, attributes, body, argument) world_kernel_thread(thread, body, argument)
#define pthread_join(thread, result)                       world_thread_join(thread)
#define pthread_mutex_init(mutex, attributes)              world_mutex_init(mutex)
#define pthread_mutex_destroy(mutex)                       world_mutex_destroy(mutex)
#define pthread_mutex_lock(mutex)                          world_mutex_lock(mutex)
#define pthread_mutex_unlock(mutex)                        world_mutex_unlock(mutex)
#define IS_LOCKED(mutex)                                   world_mutex_is_mine(mutex)
#define THREAD_NUMBER()                                    world_thread_number()
#define pthread_cond_init(condition, attributes)           world_cond_init(condition)
#define pthread_cond_destroy(condition)                    world_cond_destroy(condition)
#define pthread_cond_wait(condition, mutex)                world_cond_wait(condition, mutex)
#define pthread_cond_timedwait(condition, mutex, deadline) world_cond_timedwait(condition, mutex, deadline)
#define pthread_cond_signal(condition)                     world_cond_wake(condition, 1)
#define pthread_cond_broadcast(condition)                  world_cond_wake(condition, 1000)
#define clock_gettime(clock, time)                         world_clock(clock, time)
#define syscall                                            world_syscall
#define __atomic_load_n(...)                               (world_yield(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...)                              (world_yield(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...)                           (world_yield(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_add_fetch(...)                            (world_yield(), __atomic_add_fetch(__VA_ARGS__))
#define __atomic_sub_fetch(...)                            (world_yield(), __atomic_sub_fetch(__VA_ARGS__))
#define __atomic_compare_exchange_n(...)                   (world_yield(), __atomic_compare_exchange_n(__VA_ARGS__))

#define malloc(size)                   world_malloc(size)
#define calloc(n, size)                world_calloc(n, size)
#define realloc(bytes, size)           world_realloc(bytes, size)
#define aligned_alloc(alignment, size) world_aligned_alloc(alignment, size)
#define free(bytes)                    world_free(bytes)
/* What is copied often is small, and its size is known: a call would make the world slow. */
#define memcpy(to, from, size)                                                                               \
    (__builtin_constant_p(size) && (size) < 4096 ? __builtin_memcpy(to, from, size)                          \
                                                 : world_memcpy(to, from, size))
#define pread(fd, buffer, size, offset)         world_pread(fd, buffer, size, offset)
#define pwrite(fd, buffer, size, offset)        world_pwrite(fd, buffer, size, offset)
#define preadv2(fd, parts, n, offset, flags)    world_preadv2(fd, parts, n, offset, flags)
#define posix_fadvise(fd, offset, size, advice) world_fadvise(fd, offset, size, advice)
#define fstat(fd, found)                        world_fstat(fd, found)
#define open(path, flags)                       world_open(path, flags)
#define close(fd)                               world_close(fd)
#define eventfd(count, flags)                   world_eventfd(count, flags)
#define eventfd_read(fd, count)                 world_eventfd_read(fd, count)
#define eventfd_write(fd, count)                world_eventfd_write(fd, count)
#define nanosleep(time, left)                   world_nanosleep(time, left)
#define dlopen(name, flags)                     world_dlopen(name, flags)
#define dlsym(library, name)                    world_dlsym(library, name)

#endif
