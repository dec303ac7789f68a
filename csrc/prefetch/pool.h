/* SPDX-License-Identifier: PostgreSQL */
/* The engine's buffer pool: pages of 8 KiB, taken in turn, found by a hash table of file and block. */
#ifndef PGQUERN_PREFETCH_POOL_H
#define PGQUERN_PREFETCH_POOL_H

#include "prefetch/prefetch.h"

enum { POOL_PAGE = 8192, POOL_NONE = -1 };

typedef struct pool_frame {
    pgq_prefetch_access holds;
    bool used;      /* `holds` is set */
    bool pinned;    /* not to be taken before the access `owner` is replayed */
    bool pending;   /* io_uring writes to it */
    int32_t result; /* what io_uring said; POOL_PAGE once the page is whole */
    uint32_t owner;
} pool_frame;

typedef struct pool {
    unsigned char *pages; /* aligned to 4096 bytes, as O_DIRECT needs */
    pool_frame *frames;
    uint32_t count, hand;
    uint32_t *slots; /* of the hash table: frame + 1; 0: free */
    uint32_t mask;
} pool;

/* False: no memory. The pool must be freed in either case. */
bool pgq_prefetch_pool_make(pool *pool, uint32_t count);
void pgq_prefetch_pool_free(pool *pool);

/* The frame that holds the block, or POOL_NONE. */
int64_t pgq_prefetch_pool_find(const pool *pool, pgq_prefetch_access block);

/* The frame that is taken next: the next one in turn that is not pinned. At least one frame is not pinned. */
uint32_t pgq_prefetch_pool_next(pool *pool);

/* Takes that frame for a block that no frame holds. */
uint32_t pgq_prefetch_pool_take(pool *pool, pgq_prefetch_access block);

static inline void *pool_page(const pool *pool, uint32_t frame)
{
    return pool->pages + (size_t)frame * POOL_PAGE;
}

#endif
