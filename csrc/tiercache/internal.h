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
#include "tiercache/entries.h"
#include "tiercache/policy.h"

#include <pthread.h>
#include <string.h>

#define PAGE        ((size_t)PGQ_TIERCACHE_PAGE_SIZE)
#define BLOCK_PAGES ((uint32_t)PGQ_TIERCACHE_BLOCK_PAGES)
#define SECTOR      512
#define SLOT        (SECTOR + PAGE)
#define WRITES      256
#define LISTED      1017 /* blocks that a trailer lists */
#define TRAILERS    PGQ_TIERCACHE_TRAILERS

/* Entries 0 to n - 1 that hold a page each: the frames of the memory, the slots of the SSD. */
typedef struct tier {
    uint32_t n;
    table where; /* page -> entry */
    policy policy;
    uint64_t *versions; /* of the contents: each write has a larger one */
    entries dirty;      /* the store may have older contents */
    uint32_t *free;     /* a stack */
    uint32_t free_count;
} tier;

/* What names a store: random. */
typedef struct store_id {
    uint8_t bytes[16];
} store_id;

/*
 * What the store says of itself, in one of three pages behind its last one: never in the one that was synced last, so that
 * a torn one leaves another. All numbers are little-endian, as memory is here; see SOUNDNESS.md.
 */
typedef struct trailer {
    uint64_t magic, pages;
    store_id id;
    uint64_t turn, epoch;    /* epoch: as pgq_tiercache's, when the store was written last */
    uint32_t listed, crc;    /* listed above LISTED: all blocks */
    uint64_t blocks[LISTED]; /* whose writing may not have become durable, though reads give it */
} trailer;

/* A block that a write-back has gathered: what is to be written, as it was under `map`. */
typedef struct gathered {
    uint64_t block;
    uint32_t asked, have, dirty; /* bit k: page k of the block is dirty; is at hand; is both */
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

    bool ssd_in_use;   /* pages may be put on it */
    bool ssd_unsynced; /* written since its last sync */
    bool ssd_owes;     /* old contents may be valid on it, after a crash at the latest */
    bool retiring;     /* it is not in use any more, and the control file does not say so yet */
    entries stale;     /* free slots that may still be valid on the SSD */
    store_id id;
    uint64_t mount;         /* as in the control file, unless retiring */
    uint64_t spare_mount;   /* was never written to an SSD */
    uint64_t generation;    /* of the slots: others are not ours */
    uint64_t epoch;         /* how often something was taken off the SSD */
    uint8_t sector[SECTOR]; /* of zeros, or to be written */

    /* Guarded by `flushing`: */
    trailer *trailer;                      /* the next one */
    uint32_t trailer_synced, trailer_last; /* the places of the last ones that were synced, and written */
    uint32_t unsure; /* blocks at the start of its list, of which a sync has failed; above LISTED: any */
    gathered *batch;
    uint8_t *gap_buffer; /* a block */
    uint64_t *blocks;    /* those that are dirty */

    bool failed; /* a write-back has, since the last fsync */
};

/* ---- tiers ---- */
bool pgq_tiercache_tier_make(tier *t, const policy_calls *calls, uint32_t n);
void pgq_tiercache_tier_free(tier *t);

static inline uint32_t tier_find(const tier *t, uint64_t page)
{
    return table_get(&t->where, page);
}

/* A page comes to an entry that is not on the stack of free ones. */
static inline void tier_put(tier *t, uint32_t entry, uint64_t page, uint64_t version, bool dirty)
{
    t->versions[entry] = version;
    if (dirty)
        entries_add(&t->dirty, entry);
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
    entries_remove(&t->dirty, entry);
    t->free[t->free_count++] = entry;
}

/* All pages that were set aside become victims again. */
static inline void tier_bring_back(tier *t)
{
    while (t->policy.queues[ASIDE].count > 0)
        policy_bring_back(&t->policy, t->policy.queues[ASIDE].tail);
}

static inline uint8_t *frame_of(pgq_tiercache *c, uint32_t frame)
{
    return c->frames + PAGE * frame;
}

/* ---- files: the whole of the bytes, or false. What lies behind the end reads as zeros. ---- */
bool pgq_tiercache_read_all(pgq_tiercache *c, int file, void *bytes, size_t size, uint64_t offset);
bool pgq_tiercache_write_all(pgq_tiercache *c, int file, const void *bytes, size_t size, uint64_t offset);
bool pgq_tiercache_sync_file(pgq_tiercache *c, int file);
/* A record's checksum is its last field: of what precedes it. */
void pgq_tiercache_seal(pgq_tiercache *c, void *record, size_t size);
bool pgq_tiercache_is_sound(pgq_tiercache *c, const void *record, size_t size);
bool pgq_tiercache_is_zero(const void *record, size_t size);

static inline bool same_id(const store_id *a, const store_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* ---- the SSD; `map` is held ---- */

/* A page to a free slot. false: it did not come to stand there. */
bool pgq_tiercache_ssd_put(pgq_tiercache *c, uint64_t page, uint64_t version, bool dirty,
                           const uint8_t *contents);
/* A slot's contents; false if they cannot be read, or are not what was written. */
bool pgq_tiercache_ssd_get(pgq_tiercache *c, uint32_t slot, void *contents);
/* A slot's page leaves because newer contents exist, or because it cannot be read. */
void pgq_tiercache_ssd_forget(pgq_tiercache *c, uint32_t slot);
/* Overwrite what is stale on the SSD. false: a write failed. */
bool pgq_tiercache_ssd_scrub(pgq_tiercache *c);
/* Do not use it any more. Its dirty pages stay readable, unless these are forgotten, too. */
void pgq_tiercache_ssd_abandon(pgq_tiercache *c, bool with_dirty);
/* Take over the slots of an SSD that is trusted. in_doubt: reads may give what is not durable. false: a write failed. */
bool pgq_tiercache_ssd_scan(pgq_tiercache *c, bool in_doubt);
/* A slot may have old contents. */
static inline void slot_is_stale(pgq_tiercache *c, uint32_t slot)
{
    entries_add(&c->stale, slot);
    c->ssd_owes = true;
}

/* ---- the store's trailer ---- */

/* Read it, compare it with the control file (is_new: that is empty), make the store durable as it reads. */
pgq_code pgq_tiercache_store_mount(pgq_tiercache *c, bool is_new, const store_id *fresh);
/* Before blocks are written: list them beside those that are listed already. */
bool pgq_tiercache_store_announce(pgq_tiercache *c, const gathered batch[], size_t n);
/* After a sync. The blocks that were written are durable now, unless it failed. */
void pgq_tiercache_store_settle(pgq_tiercache *c, const gathered batch[], size_t n, bool synced);

/* ---- opens; `map` is held ---- */

/* Look at control file, store and SSD, and begin a new mount. */
pgq_code pgq_tiercache_mount(pgq_tiercache *c);
/* Write the SSD's superblock, with the epoch. */
bool pgq_tiercache_put_superblock(pgq_tiercache *c);
/* No open will trust the SSD; its dirty pages stay readable. false: the control file could not be written. */
bool pgq_tiercache_retire(pgq_tiercache *c);

/* ---- write-back; `map` is held, and released meanwhile ---- */

/* Write back the dirty blocks from this one on, a batch at most. What cannot be written is set aside. */
void pgq_tiercache_write_back_for_room(pgq_tiercache *c, uint64_t block);

#endif
