/* SPDX-License-Identifier: PostgreSQL */
/*
 * The store's state, and the formats of its files. All numbers are little-endian. Internal: not installed, not seen by the
 * bindings. ref/tornpage.py has the same names.
 */
#ifndef PGQUERN_TORNPAGE_STORE_H
#define PGQUERN_TORNPAGE_STORE_H

#include "common/outcome.h"
#include "common/crc.h"
#include "tornpage/tornpage.h"

#include <string.h>

enum { SECTOR = 4096, PAGE_HEADER = 24, MAX_SLOTS = 255, DELTA = 0, IMAGE = 1, MARK = 2, CLEAN = 0 };

#define NO_PAGE UINT32_MAX

#define CONTROL_MAGIC 0x50474354u
#define AREA_MAGIC    0x50474441u

/*
 * The crc is of all that follows it, in a record also of the payload and its padding to 8 bytes. A mark has no payload: it
 * stands where a checkpoint, or the time after a recovery, begins.
 */
typedef struct record {
    uint32_t crc, length;
    uint64_t lsn;
    uint32_t epoch, page;
    uint16_t offset, kind;
    uint32_t life;
} record;
_Static_assert(sizeof(record) == 32, "a record's header has no padding");

/* life: the random number of the format. made: 0 while a format is under way, then 1. */
typedef struct control {
    uint32_t crc, magic;
    uint64_t generation, redo, life, log_capacity;
    uint32_t epoch, protection, block_size, pages, slots, made;
} control;
_Static_assert(sizeof(control) == 64, "control has no padding, and fits into a sector");

typedef struct area_entry {
    uint32_t page, crc;
} area_entry;

typedef struct area_head {
    uint32_t crc, magic;
    uint64_t life;
    uint32_t count;
    area_entry entries[MAX_SLOTS];
} __attribute__((packed)) area_head;
_Static_assert(sizeof(area_head) <= SECTOR, "the list of the area fits into its sector");

struct pgq_tornpage_store {
    pgq_tornpage_config config;
    pgq_tornpage_device device;
    crc_table crc;
    uint8_t *pages;
    uint64_t *
        first_change; /* of each page: where the log ended after its first change not written back, or CLEAN */
    bool *torn;       /* during recovery */
    uint32_t
        restored[MAX_SLOTS]; /* during recovery: the page that a slot of the area gave back, or NO_PAGE */
    size_t area_count;       /* during recovery: slots that the area's head lists */
    uint8_t *log;            /* as in the file, and what is not written yet */
    uint8_t *area;           /* a batch for the double-write area */
    uint8_t *scratch;        /* a record */
    uint64_t insert, flushed;
    uint64_t redo, durable_redo; /* of the checkpoint that has begun; of the last one that has ended */
    uint64_t generation, life;
    uint32_t epoch;
    bool open, failed;
    bool unsynced; /* pages were written in place since the last sync */
};

typedef pgq_tornpage_store store;

static inline uint8_t *page_of(const store *s, uint32_t page)
{
    return s->pages + (size_t)page * s->config.block_size;
}

/* pd_lsn is two words of 32 bits, the higher one first. */
static inline uint64_t page_lsn(const uint8_t *page)
{
    uint32_t word[2];

    memcpy(word, page, sizeof word);
    return (uint64_t)word[0] << 32 | word[1];
}

static inline void set_page_lsn(uint8_t *page, uint64_t lsn)
{
    uint32_t word[2] = {(uint32_t)(lsn >> 32), (uint32_t)lsn};

    memcpy(page, word, sizeof word);
}

/* The low half of the store's number stands in pd_prune_xid of each page. */
static inline uint32_t page_life(const uint8_t *page)
{
    uint32_t life;

    memcpy(&life, page + 20, sizeof life);
    return life;
}

static inline void set_page_life(uint8_t *page, uint64_t life)
{
    uint32_t low = (uint32_t)life;

    memcpy(page + 20, &low, sizeof low);
}

/* The status that a call on an open store begins with. */
static inline pgq_status usable(const store *s)
{
    if (s == NULL)
        return refused(PGQ_NULL, 0);
    if (s->failed)
        return refused(PGQ_TORNPAGE_IO, 0);
    return s->open ? accepted() : refused(PGQ_TORNPAGE_NO_STORE, 0);
}

/* File operations that remember a failure. files.c */
bool pgq_tornpage_read(store *s, int file, uint64_t at, void *bytes, size_t size);
bool pgq_tornpage_write(store *s, int file, uint64_t at, const void *bytes, size_t size);
bool pgq_tornpage_sync(store *s, int file);
bool pgq_tornpage_sync_data(store *s);
/* The newest control; its generation is 0 if there is none. */
bool pgq_tornpage_read_control(store *s, control *newest);
/* Writes it to the slot of its generation, and makes it durable. */
bool pgq_tornpage_put_control(store *s, const control *c);
/* The store's next one. made: it is whole. */
bool pgq_tornpage_next_control(store *s, bool made);

/* The log. log.c */
void pgq_tornpage_append(store *s, record head, const void *payload);
void pgq_tornpage_append_mark(store *s);
bool pgq_tornpage_write_log(store *s);
/* The record at `lsn`, and where it ends; *payload is valid until the next call. false: the log ends here. */
bool pgq_tornpage_next_record(store *s, uint64_t lsn, record *head, const uint8_t **payload, uint64_t *end);

/* Pages to their places, by the protection. pages.c */
void pgq_tornpage_seal(store *s, uint32_t page);
bool pgq_tornpage_is_right(const store *s, uint32_t page);
bool pgq_tornpage_write_pages(store *s, const uint32_t pages[], size_t count);
bool pgq_tornpage_write_changed(store *s, uint64_t until);
/* In memory, over the pages that were read from their places; then the same in the files. */
bool pgq_tornpage_read_area(store *s);
bool pgq_tornpage_restore_area(store *s);

static inline uint64_t record_size(uint32_t length)
{
    return sizeof(record) + ((uint64_t)length + 7) / 8 * 8;
}

#endif
