/* SPDX-License-Identifier: PostgreSQL */
/*
 * The cache, as its files see it. Internal.
 *
 * Two locks. `map` guards all that is not said to be guarded by `flushing`. A hit takes none: it peeks in the table, pins the frame
 * (readers.h), and notes what the policy is to hear (hits.h); what is not found so is looked for under `map`. `flushing` makes write-backs one at a time; it is taken before `map`. No file is read, written or synced while
 * `map` is held. So who works on a file marks first what all others must leave alone, under `map`, and takes the mark away under `map`:
 *
 * - A load reads pages of a block (reads.c). It is in `loads` for all to see. Its frames are neither free nor in the table: it
 *   alone touches their bytes. A thread that needs one of its pages waits for it, and a write to one tells it that it is old.
 * - A frame is `leaving` while its page is written to the SSD (room.c). It stays in the table, and is read and written as before,
 *   but it is no victim: it is in no queue of the policy. What is written to the SSD is a copy.
 * - A slot has `users`: those who read it, or the one that writes it. Meanwhile nobody else writes it. A slot that is written is
 *   not in the table until the write has ended.
 *
 * A slot that is not in the table, and may be valid on the SSD, is stale, until a write to it has ended: also while it is being
 * written. So a write-back finds in `stale` all that may be older than what it is about to write to the store.
 *
 * A thread waits at a condition for one of these marks to go. It has none itself then, or it is the write-back, for which nobody
 * waits who has one. So each wait is for one request to a file.
 */
#ifndef PGQUERN_TIERCACHE_INTERNAL_H
#define PGQUERN_TIERCACHE_INTERNAL_H

#include "common/outcome.h"
#include "tiercache/crc32c.h"
#include "tiercache/dirty.h"
#include "tiercache/entries.h"
#include "tiercache/hits.h"
#include "tiercache/once.h"
#include "tiercache/policy.h"
#include "tiercache/readers.h"

#include <pthread.h>
#include <string.h>

#define PAGE        ((size_t)PGQ_TIERCACHE_PAGE_SIZE)
#define BLOCK_PAGES ((uint32_t)PGQ_TIERCACHE_BLOCK_PAGES)
#define SECTOR      512
#define ALIGNMENT   4096            /* of the bytes that a file gets or gives; no unit of the SSD is larger */
#define SLOT        (SECTOR + PAGE) /* what the checksum of a slot covers */
#define LISTED      1017            /* blocks that a trailer lists */
#define TRAILERS    PGQ_TIERCACHE_TRAILERS
#define LOADS       64
#define TWICE       2 /* touches that make a page worth a write to the SSD */

/* Entries 0 to n - 1 that hold a page each: the frames of the memory, the slots of the SSD. */
typedef struct tier {
    uint32_t n;
    table where; /* page -> entry */
    policy policy;
    uint64_t *versions; /* of the contents: each write has a larger one */
    bool *dirty;        /* the store may have older contents */
    dirty_blocks *dirty_blocks;
    unsigned first_bit; /* of a block's pages there that are in this tier */
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
    /* bit k: page k is dirty and to be written; is dirty and not to be; is at hand; is to be written and at hand; was written */
    uint32_t asked, left_out, have, dirty, written;
    uint64_t versions[BLOCK_PAGES];
    uint32_t slots[BLOCK_PAGES]; /* that are to be read; TABLE_NONE: none */
    uint8_t *bytes;
} gathered;

/* Pages of a block that a thread reads from a file. */
typedef struct load {
    uint64_t page;
    uint32_t n, old; /* pages; bit i: page + i was written since */
    bool keeps;      /* it has frames, and the pages come to memory */
    uint32_t frames[BLOCK_PAGES];
    struct load *next;
} load;

struct pgq_tiercache {
    pgq_tiercache_files files;
    pgq_tiercache_options options;
    pthread_mutex_t flushing, map;
    uint32_t flushes; /* calls of fsync and write_back that wait for `flushing` */
    pthread_cond_t flush_begins;
    crc_table crc;

    tier memory, ssd;
    dirty_blocks dirty;            /* of both */
    uint8_t *frames;               /* the pages in memory */
    load *loads[LOADS];            /* by the remainder of their block */
    pthread_cond_t arrived[LOADS]; /* one of these loads has ended */
    pthread_cond_t settled;        /* a slot has no users any more, a frame is not leaving any more */
    uint32_t reserved;             /* frames of loads */
    uint32_t kept;                 /* frames that a cleaner keeps free */
    uint8_t *touches;              /* of each frame's page, since it came; TWICE at most */
    once once;                     /* pages that have left memory after one touch */
    readers readers;
    stripe *hits;         /* STRIPES of them */
    bool *leaving;        /* frames */
    uint32_t leaves;      /* how many of them are leaving */
    uint32_t *users;      /* of each slot */
    uint8_t *read_buffer; /* a block; the load's that reads several pages */
    bool reads_ahead;     /* there is such a load */
    uint64_t version;     /* the last one given */
    uint64_t expected;    /* the page whose reading continues a sequential scan */
    pgq_tiercache_counts counts;

    bool ssd_in_use;   /* pages may be put on it */
    bool ssd_unsynced; /* a write to it has ended since its last sync */
    bool ssd_owes;     /* old contents may be valid on it, after a crash at the latest */
    entries stale;     /* slots that are not in the table, and may be valid on the SSD */
    store_id id;
    uint64_t generation; /* of the slots: others are not ours */

    /* Guarded by `flushing`: */
    bool retiring;        /* the SSD is not in use any more, and the control file does not say so yet */
    uint64_t mount;       /* as in the control file, unless retiring */
    uint64_t spare_mount; /* was never written to an SSD */
    uint64_t epoch;       /* how often something was taken off the SSD */
    uint8_t *head;        /* of a slot, of zeros; or a record, at its start */
    uint32_t *scrubbed;   /* slots that were stale when this write-back began to take old contents off */
    trailer *trailer;     /* the next one */
    uint32_t trailer_synced, trailer_last; /* the places of the last ones that were synced, and written */
    uint32_t unsure; /* blocks at the start of its list, of which a sync has failed; above LISTED: any */
    gathered *batch;
    uint8_t *gap_buffer; /* a block */

    bool failed; /* a write-back has, since the last fsync */
};

/* The first byte of the room that is aligned for a file: that takes up to ALIGNMENT - 1 bytes. No compiler's alignment: in some
   builds with sanitizers a variable does not get more than 64 (gcc's bug 110027). */
static inline uint8_t *aligned(uint8_t room[])
{
    return room + (ALIGNMENT - (uintptr_t)room % ALIGNMENT) % ALIGNMENT;
}

/* ---- tiers ---- */
bool pgq_tiercache_tier_make(tier *t, const policy_calls *calls, uint32_t n, dirty_blocks *dirty,
                             unsigned first_bit);
void pgq_tiercache_tier_free(tier *t);

static inline uint32_t tier_find(const tier *t, uint64_t page)
{
    return table_get(&t->where, page);
}

static inline void tier_tell(tier *t, uint32_t entry, page_state state)
{
    uint64_t page = t->policy.pages[entry];

    pgq_tiercache_dirty_set(t->dirty_blocks, page / BLOCK_PAGES,
                            (uint32_t)1 << (t->first_bit + page % BLOCK_PAGES), state, t->versions[entry]);
}

static inline void tier_mark(tier *t, uint32_t entry, bool dirty)
{
    if (t->dirty[entry] == dirty)
        return;
    t->dirty[entry] = dirty;
    tier_tell(t, entry, dirty ? DIRTY : CLEAN);
}

/* A dirty page, STUCK or LOST, is no victim, for now. */
static inline void tier_set_aside(tier *t, uint32_t entry, page_state state)
{
    HOLDS(t->dirty[entry] && state >= STUCK);
    tier_tell(t, entry, state);
    policy_set_aside(&t->policy, entry);
}

/* It may be a victim again. */
static inline void tier_bring_back(tier *t, uint32_t entry)
{
    if (t->dirty[entry])
        tier_tell(t, entry, DIRTY);
    policy_bring_back(&t->policy, entry);
}

static inline void tier_bring_all_back(tier *t)
{
    while (t->policy.queues[ASIDE].count > 0)
        tier_bring_back(t, t->policy.queues[ASIDE].tail);
}

/* A page comes to an entry that is not on the stack of free ones. */
static inline void tier_put(tier *t, uint32_t entry, uint64_t page, uint64_t version, bool dirty)
{
    HOLDS(tier_find(t, page) == TABLE_NONE); /* a page has one entry */
    t->versions[entry] = version;
    table_put(&t->where, page, entry);
    t->policy.calls->insert(&t->policy, entry, page);
    tier_mark(t, entry, dirty);
}

static inline uint32_t tier_take(tier *t)
{
    HOLDS(t->free_count > 0);
    return t->free[--t->free_count];
}

static inline void tier_give(tier *t, uint32_t entry)
{
    HOLDS(t->free_count < t->n && tier_find(t, t->policy.pages[entry]) != entry);
    t->free[t->free_count++] = entry;
}

/* A page leaves; the policy knows it already. */
static inline void tier_remove(tier *t, uint32_t entry)
{
    HOLDS(tier_find(t, t->policy.pages[entry]) == entry);
    table_remove(&t->where, t->policy.pages[entry]);
    tier_mark(t, entry, false);
}

static inline bool tier_holds(const tier *t, uint32_t entry)
{
    return tier_find(t, t->policy.pages[entry]) == entry;
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

/* ---- `map` ---- */

/* The policy of the memory hears of the hits that are noted; or of one, whose page may have left the frame since. Who has not had `map` all
   the time since the last call tells them before that policy is asked or told anything, and before touches or hits are counted. */
void pgq_tiercache_tell_hits(pgq_tiercache *c);
void pgq_tiercache_tell_hit(pgq_tiercache *c, hit h);

static inline void lock_map(pgq_tiercache *c)
{
    pthread_mutex_lock(&c->map);
}

static inline void unlock_map(pgq_tiercache *c)
{
    readers_open(&c->readers);
    pthread_mutex_unlock(&c->map);
}

static inline void wait_with_map(pgq_tiercache *c, pthread_cond_t *condition)
{
    readers_open(&c->readers);
    pthread_cond_wait(condition, &c->map);
}

/* ---- frames; `map` is held ---- */

/* As readers_close. The policy hears of the hits that were noted while it waited. */
static inline bool close_frame(pgq_tiercache *c, uint32_t frame)
{
    if (!readers_close(&c->readers, frame, &c->map))
        return false;
    pgq_tiercache_tell_hits(c);
    return true;
}

/* A page, whose bytes are there, comes to a frame, asked for so often now, and once more if it is remembered. */
static inline void fill_frame(pgq_tiercache *c, uint32_t frame, uint64_t page, uint64_t version,
                              unsigned touches)
{
    unsigned all = touches + once_take(&c->once, page);

    HOLDS(IS_LOCKED(&c->map) && !c->leaving[frame]);
    c->touches[frame] = (uint8_t)(all < TWICE ? all : TWICE);
    tier_put(&c->memory, frame, page, version, false);
    readers_name(&c->readers, frame, page);
}

/* A page leaves its frame, which is closed; the policy knows it already. */
static inline void empty_frame(pgq_tiercache *c, uint32_t frame)
{
    HOLDS(c->readers.held == frame && !c->leaving[frame]);
    readers_name(&c->readers, frame, NO_PAGE);
    tier_remove(&c->memory, frame);
    tier_give(&c->memory, frame);
}

/* A page in memory is used. One that is leaving is in no queue. */
static inline void touch_frame(pgq_tiercache *c, uint32_t frame)
{
    HOLDS(IS_LOCKED(&c->map) && tier_holds(&c->memory, frame));
    if (c->touches[frame] < TWICE)
        c->touches[frame]++;
    if (c->leaving[frame])
        return;
    if (c->memory.policy.queue_of[frame] == DOOMED)
        policy_rescue(&c->memory.policy, frame);
    else
        c->memory.policy.calls->hit(&c->memory.policy, frame);
}

/* A page is written: what is being read of it is old. */
static inline void note_write(pgq_tiercache *c, uint64_t page)
{
    for (load *l = c->loads[page / BLOCK_PAGES % LOADS]; l != NULL; l = l->next)
        if (page - l->page < l->n)
            l->old |= (uint32_t)1 << (page - l->page);
}

/* ---- room; `map` is held, and released meanwhile ---- */

/*
 * Until there are `wanted` free frames, or as many pages have left. PGQ_TIERCACHE_WRITE_BACK: no page can leave. insists: what
 * was set aside is tried once more.
 */
pgq_code pgq_tiercache_make_room(pgq_tiercache *c, uint32_t wanted, bool insists);

/* ---- the SSD; `map` is held ---- */

/* A free slot for a page, and its only user is the caller. TABLE_NONE: there is none now. */
uint32_t pgq_tiercache_ssd_take(pgq_tiercache *c);
/* One user less. Without users a slot whose page has left is free. */
void pgq_tiercache_ssd_release(pgq_tiercache *c, uint32_t slot);
/* A slot's clean page leaves to make room. false: the slot is not free yet. */
bool pgq_tiercache_ssd_evict(pgq_tiercache *c, uint32_t slot);
/* A slot's page leaves because newer contents exist, or because it cannot be read. */
void pgq_tiercache_ssd_forget(pgq_tiercache *c, uint32_t slot);
/* Do not use it any more. Its dirty pages stay readable, unless these are forgotten, too. */
void pgq_tiercache_ssd_abandon(pgq_tiercache *c, bool with_dirty);
/* Overwrite what is stale on the SSD now. `map` is released meanwhile. false: a write failed. */
bool pgq_tiercache_ssd_scrub(pgq_tiercache *c);

/* ---- the SSD; `map` is free, and the caller is a user of the slot ---- */

/* A slot's bytes, as the SSD has them, in the part of the room that is aligned. */
typedef struct slot_image {
    uint8_t room[ALIGNMENT - 1 + ALIGNMENT + PAGE];
} slot_image;
/* Under `map`: the page as it is to stand in the slot, but for the checksum. */
void pgq_tiercache_ssd_prepare(const pgq_tiercache *c, uint32_t frame, slot_image *image);
/* Gives it the checksum, and writes it. false: it does not stand there. */
bool pgq_tiercache_ssd_put(pgq_tiercache *c, uint32_t slot, slot_image *image);
/* A slot's contents; false if they cannot be read, or are not this version of this page. */
bool pgq_tiercache_ssd_get(pgq_tiercache *c, uint32_t slot, uint64_t page, uint64_t version, void *contents);

/* ---- the SSD at an open ---- */

/* Take over the slots of an SSD that is trusted. in_doubt: reads may give what is not durable. false: a write failed. */
bool pgq_tiercache_ssd_scan(pgq_tiercache *c, bool in_doubt);
/* `map` is held. A slot may have old contents. */
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

/* ---- opens ---- */

/* Look at control file, store and SSD, and begin a new mount. */
pgq_code pgq_tiercache_mount(pgq_tiercache *c);
/* Write the SSD's superblock, with the epoch. */
bool pgq_tiercache_put_superblock(pgq_tiercache *c);
/* No open will trust the SSD; its dirty pages stay readable. `map` is held, and released meanwhile. false: the control file could
   not be written. */
bool pgq_tiercache_retire(pgq_tiercache *c);

/* ---- write-back; `map` is held, and released meanwhile ---- */

/* Write back what is dirty and not set aside, from this block on, a batch at most. What cannot be written is set aside. */
void pgq_tiercache_write_back_for_room(pgq_tiercache *c, uint64_t block);

#endif
