/* SPDX-License-Identifier: PostgreSQL */
/* What interpose.h puts in the place of the C library's calls for memory, files, events and time: see system.h. */
#ifndef PGQUERN_TESTS_REPLACED_H
#define PGQUERN_TESTS_REPLACED_H

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

void *world_malloc(size_t size);
void *world_calloc(size_t n, size_t size);
void *world_realloc(void *bytes, size_t size);
void *world_aligned_alloc(size_t alignment, size_t size);
void world_free(void *bytes);
/* Another thread may go on in the middle of a page. */
void *world_memcpy(void *to, const void *from, size_t size);
int world_kernel_thread(pthread_t *thread, void *(*body)(void *), void *argument);
ssize_t world_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t world_pwrite(int fd, const void *buffer, size_t size, off_t offset);
ssize_t world_preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags);
int world_fadvise(int fd, off_t offset, off_t size, int advice);
int world_fstat(int fd, struct stat *found);
int world_open(const char *path, int flags);
int world_close(int fd);
int world_eventfd(unsigned count, int flags);
int world_eventfd_read(int fd, eventfd_t *count);
int world_eventfd_write(int fd, eventfd_t count);
int world_nanosleep(const struct timespec *time, struct timespec *left);
void *world_dlopen(const char *name, int flags);
void *world_dlsym(void *library, const char *name);

#endif
