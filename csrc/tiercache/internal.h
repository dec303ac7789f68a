/* SPDX-License-Identifier: PostgreSQL */
/*
 * The cache, as its files see it. Internal.
 *
 * Two locks. `map` guards all below it; a hit holds nothing else. `flushing` makes write-backs one at a time; it is taken
 * before `map`. While the durable store is written and synced, and while one page is read from it, `map` is free: reads
 * and writes of other threads go on.
 */
#ifndef PGQUERN_TIERCACHE_INTERNAL_H
#define PGQUERN_TIERCACHE_INTERNAL_H

#include "common/outcome.h"
#include "tiercache/crc32c.h"
#include "tiercache/policy.h"

#include <pthread.h>
#include <string.h>

#define PAGE        ((size_t)PGQ_TIERCACHE_PAGE_SIZE)
#define BLOCK_PAGES ((uint32_t)PGQ_TIERCACHE_BLOCK_PAGES)
#define SECTOR      512
#define SLOT        (SECTOR + PAGE)
#define WRITES      256

/* Entries 0 to n - 1 that hold a page each: the frames of the memory, the slots of the SSD. */
typedef struct tier {
    uint32_t n;
    table where; /* page -> entry */
    policy policy;
    uint64_t *versions; /* of the contents: each write has a larger one */
    bool *dirty;        /* the store may have older contents */
    uint32_t *free;     /* a stack */
    uint32_t free_count;
} tier;

/* A block that a write-back has gathered: what is to be written, as it was under `map`. */
typedef struct gathered {
    uint64_t block;
    uint32_t have, dirty; /* bit k: page k of the block */
    uint64_t versions[BLOCK_PAGES];
    uint8_t *bytes;
    bool written;
} gathered;

struct pgq_tiercache {
    pgq_tiercache_files files;
    pgq_tiercache_options options;
    pthread_mutex_t flushing, map;
    crc32c crc;

    tier memory, ssd;
    uint8_t *frames;      /* the pages in memory */
    uint8_t *read_buffer; /* a block */
    uint8_t *slot_buffer; /* a slot as it stands on the SSD */
    uint64_t version;     /* the last one given */
    uint64_t expected;    /* the page whose reading continues a sequential scan */
    uint32_t reserved;    /* frames, free no more, for pages that are being read */
    /* How often pages of each remainder were written: a page that is being read may be written meanwhile. */
    uint32_t writes[WRITES];
    pgq_tiercache_counts counts;

    bool ssd_in_use;        /* pages may be put on it */
    bool ssd_unsynced;      /* written since its last sync */
    bool retiring;          /* it is not in use any more, and the control file does not say so yet */
    bool *stale;            /* a free slot that may still be valid on the SSD */
    uint64_t mount;         /* as in the control file */
    uint64_t generation;    /* of the slots: others are not ours */
    uint8_t sector[SECTOR]; /* of zeros, or to be written */

    /* Guarded by `flushing`: */
    gathered *batch;
    uint8_t *gap_buffer; /* a block */
    uint64_t *blocks;    /* those that are dirty */

    bool failed; /* a write-back has, since the last fsync */
};

/* ---- tiers ---- */
bool tier_make(tier *t, const policy_calls *calls, uint32_t n);
void tier_free(tier *t);

static inline uint32_t tier_find(const tier *t, uint64_t page)
{
    return table_get(&t->where, page);
}

/* A page comes to an entry that is not on the stack of free ones. */
static inline void tier_put(tier *t, uint32_t entry, uint64_t page, uint64_t version, bool dirty)
{
    t->versions[entry] = version;
    t->dirty[entry] = dirty;
    table_put(&t->where, page, entry);
    t->policy.calls->insert(&t->policy, entry, page);
}

static inline uint32_t tier_take(tier *t)
{
    return t->free[--t->free_count];
}

/* A page leaves. evicted: to make room, and not because it is old. */
static inline void tier_drop(tier *t, uint32_t entry, bool evicted)
{
    table_remove(&t->where, t->policy.pages[entry]);
    t->policy.calls->remove(&t->policy, entry, evicted);
    t->dirty[entry] = false;
    t->free[t->free_count++] = entry;
}

static inline uint8_t *frame_of(pgq_tiercache *c, uint32_t frame)
{
    return c->frames + PAGE * frame;
}

/* ---- files: the whole of the bytes, or false. What lies behind the end reads as zeros. ---- */
bool read_all(pgq_tiercache *c, int file, void *bytes, size_t size, uint64_t offset);
bool write_all(pgq_tiercache *c, int file, const void *bytes, size_t size, uint64_t offset);
bool sync_file(pgq_tiercache *c, int file);

/* ---- the SSD; `map` is held ---- */

/* Read the control file and the SSD, take over its slots, begin a new mount. */
pgq_code ssd_mount(pgq_tiercache *c);
/* A page to a free slot. false: it did not come to stand there. */
bool ssd_put(pgq_tiercache *c, uint64_t page, uint64_t version, bool dirty, const uint8_t *contents);
/* A slot's contents; false if they cannot be read, or are not what was written. */
bool ssd_get(pgq_tiercache *c, uint32_t slot, void *contents);
/* A slot's page leaves because newer contents exist, or because it cannot be read. */
void ssd_forget(pgq_tiercache *c, uint32_t slot);
/* Overwrite what is stale on the SSD. false: a write failed. */
bool ssd_scrub(pgq_tiercache *c);
/* No restart will trust the SSD; its dirty pages stay readable. false: the control file could not be written. */
bool ssd_retire(pgq_tiercache *c);

/* ---- write-back; `map` is held, and released meanwhile ---- */

/* Write back the dirty blocks from this one on, a batch at most. PGQ_OK if none was dirty any more. */
pgq_code write_back_for_room(pgq_tiercache *c, uint64_t block);

#endif
