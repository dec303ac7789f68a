/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for tiercache. All pages are zeros, and files keep what is not: the store its trailers, the SSD the headers. SHAPE:
 *   hit FRAMES        a read of a page that is in memory, as FRAMES are
 *   fsync SLOTS N     an fsync when N pages were written, which are in memory, and there are SLOTS on the SSD
 *   write SLOTS       a write of a page that is nowhere, when all pages in memory and on the SSD are dirty, which has SLOTS
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4096, PAGE = PGQ_TIERCACHE_PAGE_SIZE, FEWEST_FRAMES = 16, UNIT = 512 };

/* Blocks of the store for each slot, when slots are dirty. */
enum { SPREAD = 4, SLOT = UNIT + PAGE, FIRST_SLOT = 4096 };

SUBJECT_KIND(tiercache_policy)

static pgq_tiercache *cache;
static uint32_t frames, slots, written;
static uint64_t page, pages;
static uint8_t *headers; /* the first unit of each slot, and before them the superblock */
static uint8_t trailers[PGQ_TIERCACHE_TRAILERS * PAGE], control[UNIT], contents[PAGE];

/* Where bytes of a file are kept; NULL: they are zeros. */
static uint8_t *kept(int file, uint64_t offset)
{
    if (file == PGQ_TIERCACHE_FILE_STORE)
        return offset < pages * PAGE ? NULL : trailers + (offset - pages * PAGE);
    if (file == PGQ_TIERCACHE_FILE_CONTROL)
        return control + offset;
    return headers + (offset < FIRST_SLOT ? 0 : UNIT + (offset - FIRST_SLOT) / SLOT * UNIT);
}

static uint64_t kept_of(int file, uint64_t size)
{
    return file == PGQ_TIERCACHE_FILE_SSD ? UNIT : size;
}

static int64_t read_file(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    const uint8_t *from = kept(file, offset);

    (void)context;
    memset(bytes, 0, size);
    if (from != NULL)
        memcpy(bytes, from, kept_of(file, size));
    return (int64_t)size;
}

static int64_t write_file(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    uint8_t *to = kept(file, offset);

    (void)context;
    if (to != NULL)
        memcpy(to, bytes, kept_of(file, size));
    return (int64_t)size;
}

static int sync_file(void *context, int file)
{
    (void)context, (void)file;
    return 0;
}

/* Of SPREAD for each slot, each once, as slots are a power of two: an odd number takes all of them in turn. */
static uint64_t next_block(void)
{
    static uint64_t n;

    return n++ * UINT64_C(0x9E3779B97F4A7C15) % ((uint64_t)slots * SPREAD);
}

bool subject_choose(const char *variant, int words, char **shape)
{
    const pgq_tiercache_files files = {NULL, read_file, write_file, sync_file, NULL};
    pgq_tiercache_options options = {MOST, FEWEST_FRAMES, 0, 1, variant, UNIT, false};
    bool fills = words == 2 && strcmp(shape[0], "write") == 0;

    if (words == 2 && strcmp(shape[0], "hit") == 0) {
        options.frames = (uint32_t)strtoul(shape[1], NULL, 10);
    } else if (words == 3 && strcmp(shape[0], "fsync") == 0) {
        options.slots = (uint32_t)strtoul(shape[1], NULL, 10);
        written = (uint32_t)strtoul(shape[2], NULL, 10);
        options.frames = written > FEWEST_FRAMES ? written : FEWEST_FRAMES;
    } else if (fills) {
        options.slots = (uint32_t)strtoul(shape[1], NULL, 10);
        options.pages = (uint64_t)options.slots * SPREAD * PGQ_TIERCACHE_BLOCK_PAGES;
    } else {
        return false;
    }
    frames = options.frames;
    slots = fills ? options.slots : 0;
    pages = options.pages;
    headers = calloc((size_t)slots + 1, UNIT);
    return subject_find_tiercache_policy(variant) != NULL && frames <= MOST && headers != NULL &&
           pgq_tiercache_open(&files, &options, &cache).code == PGQ_OK;
}

static bool run(void)
{
    pgq_status status = slots > 0     ? pgq_tiercache_write(cache, page, contents)
                        : written > 0 ? pgq_tiercache_fsync(cache)
                                      : pgq_tiercache_read(cache, page, contents);

    return status.code == PGQ_OK;
}

/* Pages of one block after the other, in any order of blocks, and none twice. */
static bool fill_slots(void)
{
    bool good = true;

    for (uint32_t n = 0; n < frames + slots; n++) {
        subject_next();
        good &= run();
    }
    return good;
}

bool subject_warm_up(void)
{
    bool good = true;

    for (uint64_t p = 0; slots == 0 && p < frames; p++)
        good &= pgq_tiercache_write(cache, p, contents).code == PGQ_OK;
    good &= slots > 0 ? fill_slots() : pgq_tiercache_fsync(cache).code == PGQ_OK;
    subject_next();
    return good && run();
}

void subject_next(void)
{
    page = slots == 0 ? subject_random() % frames : next_block() * PGQ_TIERCACHE_BLOCK_PAGES;
    for (uint32_t i = 0; i < written; i++)
        pgq_tiercache_write(cache, (page + i) % frames, contents);
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
