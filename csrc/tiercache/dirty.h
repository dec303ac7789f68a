/* SPDX-License-Identifier: PostgreSQL */
/*
 * The blocks that have a dirty page, in memory or on the SSD, by their numbers. A write-back finds the next ones from any block on,
 * and never looks at all: a write that makes room would else wait for the whole of a large SSD.
 *
 * They are in two trees: those of which a page is set aside, since it could not be written, and the others. So who leaves the
 * first ones out does not walk over them. A tree is a treap: ordered by block, and a block's hash is below that of the one above it. So
 * its shape depends on the blocks alone, not on the order in which they came, and its depth is a logarithm, but for an
 * unlikely set. Aragon, Seidel: "Randomized search trees" (FOCS 1989).
 */
#ifndef PGQUERN_TIERCACHE_DIRTY_H
#define PGQUERN_TIERCACHE_DIRTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a page in a tier. STUCK: dirty, and set aside. LOST: so, since it could not be read. */
typedef enum page_state { CLEAN, DIRTY, STUCK, LOST } page_state;

typedef struct dirty_block {
    uint64_t block, since; /* since: the version of the page that made it dirty */
    /* bit k: page k, in memory; 16 + k: on the SSD. What is lost is stuck, too. */
    uint32_t pages, stuck, lost;
    uint32_t before,
        after; /* in the tree, the parts below it; of one that is free, `before` is the next free one */
} dirty_block;

typedef struct dirty_blocks {
    dirty_block *of;
    uint32_t trees[2]; /* [1]: of the blocks with a stuck page */
    uint32_t spare;    /* one that is free */
} dirty_blocks;

/* Room for n dirty blocks at a time, one at least. false: no memory. Its end: free(d->of). */
bool pgq_tiercache_dirty_make(dirty_blocks *d, uint32_t n);

/*
 * A block's page in a tier, a mask of one bit as in `pages`, is in this state now. since counts if the block was clean. A page that is
 * clean is not made so again.
 */
void pgq_tiercache_dirty_set(dirty_blocks *d, uint64_t block, uint32_t bit, page_state state, uint64_t since);

/* The pages of a block that are dirty in a tier or in both, bit k: page k. false: those that are stuck are left out. */
uint32_t pgq_tiercache_dirty_pages(dirty_blocks *d, uint64_t block, bool stuck);

/* The first one from a block on; NULL: there is none. Good until the next change. false: those with a stuck page are left out. */
const dirty_block *pgq_tiercache_dirty_next(const dirty_blocks *d, uint64_t from, bool stuck);

/* The first page from one on that is stuck: STUCK or LOST. CLEAN: there is none, and *page stays. */
page_state pgq_tiercache_dirty_next_stuck(const dirty_blocks *d, uint64_t from, uint64_t *page);

#endif
