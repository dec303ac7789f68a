/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for tiercache; files are in memory, and the SSD forgets all. SHAPE:
 *   hit FRAMES        a read of a page that is in memory, as FRAMES are
 *   fsync SLOTS N     an fsync when N pages were written, which are in memory, and there are SLOTS on the SSD
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, PAGE = PGQ_TIERCACHE_PAGE_SIZE, BLOCK = PGQ_TIERCACHE_BLOCK_PAGES, FEWEST_FRAMES = 16 };

SUBJECT_KIND(tiercache_policy)

static pgq_tiercache *cache;
static uint32_t frames, written;
static uint64_t page;
static uint8_t store[(size_t)(MOST + PGQ_TIERCACHE_TRAILERS) * PAGE], control[512], contents[PAGE];

static uint8_t *bytes_of(int file, uint64_t *size)
{
    *size = file == PGQ_TIERCACHE_FILE_STORE     ? sizeof store
            : file == PGQ_TIERCACHE_FILE_CONTROL ? sizeof control
                                                 : 0;
    return file == PGQ_TIERCACHE_FILE_STORE ? store : control;
}

static int64_t read_file(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    uint64_t all;
    const uint8_t *from = bytes_of(file, &all);

    (void)context;
    if (offset >= all)
        return 0;
    size = size < all - offset ? size : all - offset;
    memcpy(bytes, from + offset, size);
    return (int64_t)size;
}

static int64_t write_file(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    uint64_t all;
    uint8_t *to = bytes_of(file, &all);

    (void)context;
    if (all > 0)
        memcpy(to + offset, bytes, size);
    return (int64_t)size;
}

static int sync_file(void *context, int file)
{
    (void)context, (void)file;
    return 0;
}

bool subject_choose(const char *variant, int words, char **shape)
{
    const pgq_tiercache_files files = {NULL, read_file, write_file, sync_file, NULL};
    pgq_tiercache_options options = {MOST, FEWEST_FRAMES, 0, 1, variant, 0};

    if (words == 2 && strcmp(shape[0], "hit") == 0) {
        options.frames = (uint32_t)strtoul(shape[1], NULL, 10);
    } else if (words == 3 && strcmp(shape[0], "fsync") == 0) {
        options.slots = (uint32_t)strtoul(shape[1], NULL, 10);
        written = (uint32_t)strtoul(shape[2], NULL, 10);
        options.frames = written > FEWEST_FRAMES ? written : FEWEST_FRAMES;
    } else {
        return false;
    }
    frames = options.frames;
    return subject_find_tiercache_policy(variant) != NULL && frames <= MOST &&
           pgq_tiercache_open(&files, &options, &cache).code == PGQ_OK;
}

static bool run(void)
{
    pgq_status status = written > 0 ? pgq_tiercache_fsync(cache) : pgq_tiercache_read(cache, page, contents);

    return status.code == PGQ_OK;
}

bool subject_warm_up(void)
{
    bool good = true;

    for (uint64_t p = 0; p < frames; p++)
        good &= pgq_tiercache_write(cache, p, contents).code == PGQ_OK;
    good &= pgq_tiercache_fsync(cache).code == PGQ_OK;
    subject_next();
    return good && run();
}

void subject_next(void)
{
    page = subject_random() % frames;
    for (uint32_t i = 0; i < written; i++)
        pgq_tiercache_write(cache, (page + i) % frames, contents);
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
