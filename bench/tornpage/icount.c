/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for tornpage. SHAPE:
 *   COUNT BLOCK_SIZE   the checksums of COUNT pages in one call
 *   recover N          a recovery of a store of N pages of 1 KiB, all of them in its double-write area, and changed since
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 256, LARGEST = 32768, FILES = 4, BLOCK = 1024, SECTOR = 4096, LOG = 65536 };

SUBJECT_KIND(tornpage_checksum)

static pgq_tornpage_checksum_fn checksum;
static size_t count, block_size;
static uint8_t pages[MOST * LARGEST];

/* ---- a store, whose files are in memory ---- */

static pgq_tornpage_store *store;
static uint8_t files[FILES][SECTOR + MOST * BLOCK > LOG ? SECTOR + MOST *BLOCK : LOG];

static int read_file(void *context, int file, uint64_t at, void *bytes, size_t size)
{
    (void)context;
    memcpy(bytes, files[file] + at, size);
    return 0;
}

static int write_file(void *context, int file, uint64_t at, const void *bytes, size_t size)
{
    (void)context;
    memcpy(files[file] + at, bytes, size);
    return 0;
}

static int sync_file(void *context, int file)
{
    (void)context;
    (void)file;
    return 0;
}

static bool make_store(uint32_t slots)
{
    const pgq_tornpage_config config = {PGQ_TORNPAGE_DOUBLE_WRITE, BLOCK, slots, slots, LOG};
    const pgq_tornpage_device device = {NULL, read_file, write_file, sync_file};

    return pgq_tornpage_create(&config, &device, &store).code == PGQ_OK &&
           pgq_tornpage_format(store).code == PGQ_OK;
}

/* Each page is changed, and written back by way of the area, in one batch. */
static void use_store(void)
{
    uint32_t all[MOST];

    for (uint32_t page = 0; page < count; page++) {
        uint64_t word = subject_random();

        all[page] = page;
        pgq_tornpage_change(store, page, BLOCK / 2, &word, sizeof word);
    }
    pgq_tornpage_write_back(store, all, count);
}

/* ---- the subject ---- */

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 2)
        return false;
    if (strcmp(shape[0], "recover") == 0) {
        count = strtoul(shape[1], NULL, 10);
        return make_store((uint32_t)count);
    }
    count = strtoul(shape[0], NULL, 10);
    block_size = strtoul(shape[1], NULL, 10);
    checksum = subject_find_tornpage_checksum(variant);
    return checksum != NULL && count <= MOST && block_size <= LARGEST;
}

static bool run(void)
{
    uint16_t checksums[MOST];

    if (store != NULL)
        return pgq_tornpage_recover(store).code == PGQ_OK;
    return checksum(pages, count, block_size, 1000, checksums).code == PGQ_OK;
}

bool subject_warm_up(void)
{
    subject_next();
    return run();
}

void subject_next(void)
{
    if (store != NULL)
        use_store();
    for (size_t i = 0; i < count * block_size; i += 8) {
        uint64_t word = subject_random();

        memcpy(pages + i, &word, sizeof word);
    }
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
