/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: an SSD of any contents, and of either unit, at a restart. An input changes bytes of a sound SSD, of the control file, or of
 * the store's trailers; half of them then get right checksums, so that the ids, versions, page numbers and lists behind
 * these are looked at too. The restart must refuse the control file or the store, or give each page contents that were once
 * written to it, twice the same. What is refused touches no output.
 */
#include "../tests/tiercache/memory_files.h"
#include "tiercache/crc32c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES = 32, FRAMES = 16, SLOTS = 4, SLOT = 512 + 8192, FIRST_SLOT = 4096, WORDS = 1024 };
enum {
    UNITS = 2,
    MOST_UNIT = 4096,
    MOST = FIRST_SLOT + SLOTS * (MOST_UNIT + 8192) + 8192 * (PAGES + PGQ_TIERCACHE_TRAILERS)
};

static unsigned long long refused, opened, from_ssd, changed;

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr, "tally: REFUSED=%llu opened=%llu from_ssd=%llu old_contents=%llu\n", refused, opened,
            from_ssd, changed);
}

static const uint32_t units[UNITS] = {512, MOST_UNIT};
static uint32_t unit;                      /* of this input */
static uint64_t disks[UNITS][3][MOST / 8]; /* as the sound cache left them */
static uint64_t work[3][MOST / 8];
static bool made[UNITS];
static memory_files files;
static crc_table table;

static void must(bool holds)
{
    if (!holds)
        abort();
}

static pgq_tiercache *open_cache(pgq_code *code)
{
    pgq_tiercache_options options = {PAGES, FRAMES, SLOTS, PAGES / 16, NULL, unit, false};
    pgq_tiercache_files table = memory_table(&files);
    pgq_tiercache *const untouched = (pgq_tiercache *)&files, *cache = untouched;

    *code = pgq_tiercache_open(&table, &options, &cache).code;
    must((*code == PGQ_OK) == (cache != untouched));
    return *code == PGQ_OK ? cache : NULL;
}

static void choose_unit(uint32_t chosen)
{
    unit = chosen;
    for (int file = 0; file < 3; file++) {
        files.sizes[file] = memory_size(file, PAGES, SLOTS, unit);
        files.words[file] = work[file];
    }
}

/* Page p holds 100 * version + p in all words. The last writes of some pages are on the SSD alone. */
static void make_sound_disk(uint64_t disk[3][MOST / 8])
{
    uint64_t words[WORDS];
    pgq_code code;

    pgq_crc_make(&table, CRC32C);
    memset(work, 0, sizeof work);
    pgq_tiercache *cache = open_cache(&code);
    must(code == PGQ_OK);
    for (uint64_t version = 1; version <= 3; version++)
        for (uint64_t page = 0; page < (version == 3 ? 20 : PAGES); page++) {
            for (int i = 0; i < WORDS; i++)
                words[i] = 100 * version + page;
            must(pgq_tiercache_write(cache, page, words).code == PGQ_OK);
            if (version == 2 && page == PAGES - 1)
                must(pgq_tiercache_fsync(cache).code == PGQ_OK);
        }
    pgq_tiercache_close(cache);
    memcpy(disk, work, sizeof work);
}

static void restore(uint64_t disk[3][MOST / 8])
{
    for (int file = 0; file < 3; file++)
        memcpy(work[file], disk[file], files.sizes[file]);
}

/* Give a record or a slot the checksum that it should have. */
static void seal(uint8_t *at, size_t size, size_t crc_at)
{
    memset(at + crc_at, 0, 4);
    uint32_t crc = pgq_tiercache_crc32c_of(&table, at, size >= 8192 ? size : crc_at);
    memcpy(at + crc_at, &crc, 4);
}

/* Its header and page; zeros may stand before them. */
static uint64_t slot_at(uint64_t slot)
{
    return FIRST_SLOT + slot * (unit + 8192) + unit - 512;
}

static uint64_t offset_of(int file, uint8_t where, uint64_t at)
{
    uint64_t slot = where % (SLOTS + 1);

    if (file == PGQ_TIERCACHE_FILE_CONTROL)
        return at % 48;
    if (file == PGQ_TIERCACHE_FILE_STORE)
        return 8192 * (PAGES + where % 3) + at % 8192;
    return slot == 0 ? at % 4096 : slot_at(slot - 1) + at;
}

/* Five bytes change one: the file, where, and to what. Is it a file without which there is no restart? */
static bool change_bytes(const uint8_t *data, size_t size)
{
    bool needed = false;

    for (; size >= 5; data += 5, size -= 5) {
        int file = data[0] % 16 == 0   ? PGQ_TIERCACHE_FILE_CONTROL
                   : data[0] % 16 == 1 ? PGQ_TIERCACHE_FILE_STORE
                                       : PGQ_TIERCACHE_FILE_SSD;
        uint64_t at = (uint64_t)(data[2] | data[3] << 8) % (data[2] % 4 ? 72 : SLOT);

        ((uint8_t *)work[file])[offset_of(file, data[1], at)] = data[4];
        needed |= file != PGQ_TIERCACHE_FILE_SSD;
    }
    return needed;
}

static void seal_all(void)
{
    uint8_t *ssd = (uint8_t *)work[PGQ_TIERCACHE_FILE_SSD],
            *store = (uint8_t *)work[PGQ_TIERCACHE_FILE_STORE];

    seal((uint8_t *)work[PGQ_TIERCACHE_FILE_CONTROL], 48, 44);
    seal(ssd, 72, 68);
    for (int slot = 0; slot < SLOTS; slot++)
        seal(ssd + slot_at((uint64_t)slot), SLOT, 52);
    for (int place = 0; place < 3; place++)
        seal(store + 8192 * (PAGES + place), 8192, 52);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t words[WORDS], again[WORDS];
    pgq_code code;

    if (size < 1)
        return 0;
    unsigned chosen = data[0] / 2 % UNITS;
    choose_unit(units[chosen]);
    if (!made[chosen])
        make_sound_disk(disks[chosen]);
    made[chosen] = true;
    restore(disks[chosen]);
    bool needed = change_bytes(data + 1, size - 1), sealed = data[0] % 2;
    if (sealed)
        seal_all();
    pgq_tiercache *cache = open_cache(&code);
    if (cache == NULL) {
        must((code == PGQ_TIERCACHE_CONTROL || code == PGQ_TIERCACHE_STORE) && needed);
        refused++;
        return 0;
    }
    opened++;
    memset(words, 0x5A, sizeof words);
    memset(again, 0x5A, sizeof again);
    must(pgq_tiercache_read(cache, PAGES, words).code == PGQ_TIERCACHE_PAGE &&
         memcmp(words, again, sizeof words) == 0);
    for (uint64_t page = 0; page < PAGES; page++) {
        bool on_ssd = pgq_tiercache_where(cache, page) & PGQ_TIERCACHE_ON_SSD;

        code = pgq_tiercache_read(cache, page, words).code;
        must(code == PGQ_OK);
        must(pgq_tiercache_read(cache, page, again).code == PGQ_OK &&
             memcmp(words, again, sizeof words) == 0);
        from_ssd += on_ssd;
        /* A checksum that is right lets any contents through; without that, only what was written. */
        if (!sealed)
            must(memcmp(words, words + 1, sizeof words - 8) == 0 &&
                 (words[0] == 200 + page || words[0] == 300 + page));
        changed += !sealed && page < 20 && words[0] == 200 + page;
    }
    must(pgq_tiercache_fsync(cache).code == PGQ_OK);
    pgq_tiercache_close(cache);
    return 0;
}
