/* SPDX-License-Identifier: PostgreSQL */
/*
 * Files in memory, for C programs. Words are moved by relaxed atomic operations, so that these files bring no order
 * between threads, which would hide a race of the cache's, and have no race of their own.
 */
#ifndef PGQUERN_TESTS_MEMORY_FILES_H
#define PGQUERN_TESTS_MEMORY_FILES_H

#include "pgquern.h"

/* A fuzzer that looks at each step of these loops spends most of its time there, and learns nothing of the cache. */
#ifdef __clang__
#define NOT_FOLLOWED __attribute__((no_sanitize("coverage")))
#else
#define NOT_FOLLOWED
#endif

typedef struct memory_files {
    uint64_t *words[3];
    uint64_t sizes[3]; /* bytes, a multiple of 8 */
    uint64_t drawn;
} memory_files;

NOT_FOLLOWED static inline int64_t memory_read(void *context, int file, void *bytes, uint64_t size,
                                               uint64_t offset)
{
    memory_files *files = context;
    uint64_t *to = bytes;

    if (offset >= files->sizes[file])
        return 0;
    if (size > files->sizes[file] - offset)
        size = files->sizes[file] - offset;
    for (uint64_t i = 0; i < size / 8; i++)
        to[i] = __atomic_load_n(&files->words[file][offset / 8 + i], __ATOMIC_RELAXED);
    return (int64_t)size;
}

NOT_FOLLOWED static inline int64_t memory_write(void *context, int file, const void *bytes, uint64_t size,
                                                uint64_t offset)
{
    memory_files *files = context;
    const uint64_t *from = bytes;

    if (offset + size > files->sizes[file])
        return -1;
    for (uint64_t i = 0; i < size / 8; i++)
        __atomic_store_n(&files->words[file][offset / 8 + i], from[i], __ATOMIC_RELAXED);
    return (int64_t)size;
}

static inline int memory_sync(void *context, int file)
{
    (void)context;
    (void)file;
    return 0;
}

/* The same numbers in each run, and others at each call. */
static inline int memory_random(void *context, void *bytes, uint64_t size)
{
    memory_files *files = context;
    uint8_t *to = bytes;

    for (uint64_t i = 0; i < size; i++) {
        files->drawn = files->drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        to[i] = (uint8_t)(files->drawn >> 56);
    }
    return 0;
}

static inline pgq_tiercache_files memory_table(memory_files *files)
{
    return (pgq_tiercache_files){files, memory_read, memory_write, memory_sync, memory_random};
}

/* Bytes of a file that serves a store of so many pages, and so many slots on an SSD of this unit. */
static inline uint64_t memory_size(int file, uint64_t pages, uint64_t slots, uint64_t unit)
{
    return file == PGQ_TIERCACHE_FILE_STORE ? (pages + PGQ_TIERCACHE_TRAILERS) * PGQ_TIERCACHE_PAGE_SIZE
           : file == PGQ_TIERCACHE_FILE_SSD ? 4096 + slots * (unit + PGQ_TIERCACHE_PAGE_SIZE)
                                            : 512;
}

#endif
