/* SPDX-License-Identifier: PostgreSQL */
/* Eviction policies over entries 0 to n - 1, each of which holds a page. Internal. */
#ifndef PGQUERN_TIERCACHE_POLICY_H
#define PGQUERN_TIERCACHE_POLICY_H

#include "tiercache/sketch.h"
#include "tiercache/table.h"
#include "tiercache/tiercache.h"

/* A doubly linked list of entries: new ones join at the head, victims are taken from the tail. */
typedef struct queue {
    uint32_t head, tail, count;
} queue;

/* ASIDE: entries that cannot leave now. DOOMED: those that are to leave, and have left for the policy. Neither are victims. SMALL is
   W-TinyLFU's window. */
enum { SMALL, MAIN, PROTECTED, GHOST, ASIDE, DOOMED, QUEUES };

typedef struct policy {
    const struct policy_calls *calls;
    uint32_t n;              /* entries that hold pages; behind them, as many ghosts */
    uint32_t *newer, *older; /* neighbours in the queue */
    uint64_t *pages;         /* what each entry holds, or what a ghost remembers */
    uint8_t *queue_of;
    uint8_t *hits; /* since the entry came, 3 at most; W-TinyLFU's: the last doubt when it was used */
    queue queues[QUEUES];
    table ghosts;        /* page -> ghost */
    uint32_t free_ghost; /* a ghost that was never used; n ghosts: all were */
    uint32_t spare_ghost;
    bool has_evicted;

    /* W-TinyLFU's */
    sketch counts;
    uint32_t holds;  /* pages that there are to be, of which shares are: n, but for what a cleaner keeps */
    uint32_t window; /* pages that it may have; 0: none has come yet */
    uint64_t references, found; /* in this period */
    uint64_t found_before;      /* in the one before */
    bool shrinks;               /* the window's last step */
    bool has_doubted;           /* in this period */
    uint8_t doubt;              /* the number of the last one */
    uint32_t doubts;            /* pages that this one may still evict; 0: there is none */
    uint32_t caution;           /* pages that are to come back before the next one */
    uint64_t lost;              /* hits that are missing, times the references of a period */
} policy;

typedef struct policy_calls {
    void (*insert)(policy *p, uint32_t entry, uint64_t page); /* the page comes to a free entry */
    void (*hit)(policy *p, uint32_t entry);                   /* it is used again */
    uint32_t (*victim)(policy *p); /* which one should leave; it stays until removed. TABLE_NONE: none can */
    void (*remove)(policy *p, uint32_t entry, bool evicted); /* it leaves; evicted: to make room */
    void (*pass)(policy *p, uint64_t page);                  /* a page that was asked for does not come */
} policy_calls;

extern const policy_calls pgq_tiercache_lru, pgq_tiercache_s3fifo, pgq_tiercache_tinylfu;

/* false: no memory; pgq_tiercache_policy_free frees what there is. */
bool pgq_tiercache_policy_make(policy *p, const policy_calls *calls, uint32_t n);
void pgq_tiercache_policy_free(policy *p);

/* The calls of the dispatched variant, or of the one named. PGQ_VARIANT: there is none. */
pgq_code pgq_tiercache_policy_named(const char *name, const policy_calls **calls);

/* The function of the kind, for one policy. */
pgq_status pgq_tiercache_policy_replay(const policy_calls *calls, const uint64_t pages[], size_t n,
                                       uint32_t frames, uint64_t *hits);

pgq_status pgq_tiercache_policy_lru(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits);
pgq_status pgq_tiercache_policy_s3fifo(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits);
pgq_status pgq_tiercache_policy_tinylfu(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits);

static inline void queue_join(policy *p, unsigned q, uint32_t entry)
{
    queue *to = &p->queues[q];

    p->queue_of[entry] = (uint8_t)q;
    p->newer[entry] = TABLE_NONE;
    p->older[entry] = to->head;
    *(to->head == TABLE_NONE ? &to->tail : &p->newer[to->head]) = entry;
    to->head = entry;
    to->count++;
}

static inline void queue_leave(policy *p, uint32_t entry)
{
    queue *from = &p->queues[p->queue_of[entry]];
    uint32_t newer = p->newer[entry], older = p->older[entry];

    HOLDS(from->count > 0 && (newer == TABLE_NONE ? from->head : p->older[newer]) == entry);
    /* It is in this queue, and no other one's end. */
    HOLDS((older == TABLE_NONE ? from->tail : p->newer[older]) == entry);
    *(newer == TABLE_NONE ? &from->head : &p->older[newer]) = older;
    *(older == TABLE_NONE ? &from->tail : &p->newer[older]) = newer;
    from->count--;
}

static inline void ghost_forget(policy *p, uint32_t ghost)
{
    table_remove(&p->ghosts, p->pages[ghost]);
    queue_leave(p, ghost);
    p->older[ghost] = p->spare_ghost;
    p->spare_ghost = ghost;
}

/* An entry for one more ghost: a spare one, one never used, or that of the oldest ghost. */
static inline uint32_t ghost_entry(policy *p)
{
    uint32_t ghost = p->spare_ghost;

    if (ghost != TABLE_NONE) {
        p->spare_ghost = p->older[ghost];
    } else if (p->free_ghost < 2 * p->n) {
        ghost = p->free_ghost++;
    } else {
        ghost = p->queues[GHOST].tail;
        table_remove(&p->ghosts, p->pages[ghost]);
        queue_leave(p, ghost);
    }
    return ghost;
}

/* The entry's page leaves, and is remembered. */
static inline uint32_t ghost_remember(policy *p, uint32_t entry)
{
    uint32_t ghost = ghost_entry(p);

    p->pages[ghost] = p->pages[entry];
    table_put(&p->ghosts, p->pages[ghost], ghost);
    queue_join(p, GHOST, ghost);
    return ghost;
}

static inline void policy_set_aside(policy *p, uint32_t entry)
{
    if (p->queue_of[entry] == ASIDE)
        return;
    queue_leave(p, entry);
    queue_join(p, ASIDE, entry);
}

static inline void policy_bring_back(policy *p, uint32_t entry)
{
    if (p->queue_of[entry] != ASIDE)
        return;
    queue_leave(p, entry);
    queue_join(p, MAIN, entry);
}

static inline void policy_doom(policy *p, uint32_t entry)
{
    p->calls->remove(p, entry, true);
    queue_join(p, DOOMED, entry);
}

/* A doomed page is used: it comes anew. */
static inline void policy_rescue(policy *p, uint32_t entry)
{
    queue_leave(p, entry);
    p->calls->insert(p, entry, p->pages[entry]);
}

#endif
