/* SPDX-License-Identifier: PostgreSQL */
/*
 * What an eviction policy on trial defines: five functions. tests/tiercache/candidate.c makes a variant of them, and looks
 * at each call's effect.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_CANDIDATE_H
#define PGQUERN_TESTS_TIERCACHE_CANDIDATE_H

#include "tiercache/policy.h"

/*
 * An eviction policy over entries 0 to n - 1, each of which is free or holds a page. All that it keeps is in *p.
 * Each entry that holds a page stands in one queue: SMALL, MAIN, PROTECTED, ASIDE or DOOMED. queue_join and queue_leave move it
 * between them. ASIDE are the entries that are pinned: their pages cannot leave now. The cache puts them there and brings them back,
 * to MAIN; a policy leaves them there until they are removed. DOOMED are those that it has removed, and that have not left yet: the
 * cache puts them there behind remove, and it removes them once more, or inserts them again if they are used before.
 * hits[entry] is the policy's own, and so are the queue GHOST, the table `ghosts`, free_ghost, spare_ghost, the entries
 * n to 2 n, whose pages[] may remember what has left, and what follows them in policy.h.
 * insert: page comes to a free entry; set pages[entry], and join a queue. hit: it is used again.
 * victim: which entry should leave, and no other may: it holds a page, and is not pinned or doomed. It stays until it is
 * removed. TABLE_NONE: there is none. To be asked again changes nothing: the policy may move entries, but a copy of *p answers the same.
 * remove: the entry leaves its queue, also one that is pinned or doomed. evicted: to make room, and not because it is old.
 * pass: a page was asked for that does not come to these entries; who counts how often pages are asked for may count it.
 * No waiting, no memory, and no state outside of *p: a cache has two policies, and there may be many caches.
 */
void candidate_insert(policy *p, uint32_t entry, uint64_t page);
void candidate_hit(policy *p, uint32_t entry);
uint32_t candidate_victim(policy *p);
void candidate_remove(policy *p, uint32_t entry, bool evicted);
void candidate_pass(policy *p, uint64_t page);

#endif
