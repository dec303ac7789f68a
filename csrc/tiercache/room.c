/* SPDX-License-Identifier: PostgreSQL */
/* How room is made in memory: pages leave it for the SSD, or are written back. */
#include "tiercache/internal.h"

/* A clean page that was asked for once. */
static bool is_once(const pgq_tiercache *c, uint32_t frame)
{
    return c->touches[frame] < TWICE && !entries_has(&c->memory.dirty, frame);
}

/*
 * A write to the SSD must pay for itself. A clean page enters at its second touch, be it in memory or after it had left. At its first
 * one it does while a slot is free, which serves nobody, and while of such pages two in five come back. A dirty page always enters:
 * otherwise it would have to be written to the store at once.
 */
static bool enters_ssd(const pgq_tiercache *c, uint32_t frame)
{
    return !is_once(c, frame) || c->ssd.free_count > 0 || c->once.pays;
}

/* It leaves for nowhere. */
static void pass_ssd_by(pgq_tiercache *c, uint32_t frame)
{
    uint64_t page = c->memory.policy.pages[frame];

    c->ssd.policy.calls->pass(&c->ssd.policy, page);
    if (is_once(c, frame))
        once_add(&c->once, page);
}

/*
 * A victim goes to a slot that was taken for it. `map` is released while that is written. A page that is written meanwhile stays
 * in memory: the slot has old contents. So does one that the slot could not take. *left: one more, if the page has left. false: the
 * SSD could not take it.
 */
static bool move_to_ssd(pgq_tiercache *c, uint32_t frame, uint32_t slot, uint32_t *left)
{
    uint64_t page = c->memory.policy.pages[frame], version = c->memory.versions[frame];
    bool remembered = is_once(c, frame);
    slot_image image;

    c->memory.policy.calls->remove(&c->memory.policy, frame, true);
    c->leaving[frame] = true;
    c->leaves++;
    pgq_tiercache_ssd_prepare(c, frame, &image);
    pthread_mutex_unlock(&c->map);
    bool put = pgq_tiercache_ssd_put(c, slot, &image);
    pthread_mutex_lock(&c->map);
    c->leaving[frame] = false;
    c->leaves--;
    if (put && c->memory.versions[frame] == version) {
        entries_remove(&c->stale, slot);
        c->ssd_unsynced = true;
        tier_put(&c->ssd, slot, page, version, entries_has(&c->memory.dirty, frame));
        tier_remove(&c->memory, frame);
        tier_give(&c->memory, frame);
        if (remembered)
            once_add(&c->once, page);
        ++*left;
    } else {
        slot_is_stale(c, slot);
        c->memory.policy.calls->insert(&c->memory.policy, frame, page);
    }
    pgq_tiercache_ssd_release(c, slot);
    return put;
}

/*
 * The victim goes to the SSD if it is to enter, unless the SSD has it. Otherwise, or if the SSD cannot take it, a clean one goes,
 * and a dirty one is written back first. Whatever releases `map` is a reason to look at all anew.
 *
 * A page that could not be written back was set aside, and the next victim is asked. If none is left, what was set aside before
 * this call is tried once more if the caller insists; but pages that are leaving are waited for before.
 */
pgq_code pgq_tiercache_make_room(pgq_tiercache *c, uint32_t wanted, bool insists)
{
    bool may_use_ssd = true;

    insists &= c->memory.policy.queues[ASIDE].count + c->ssd.policy.queues[ASIDE].count > 0;
    for (uint32_t left = 0; left < wanted && c->memory.free_count < wanted;) {
        uint32_t frame = c->memory.policy.calls->victim(&c->memory.policy);

        if (frame == TABLE_NONE) {
            if (c->leaves > 0) {
                pthread_cond_wait(&c->settled, &c->map);
                continue;
            }
            if (!insists)
                return PGQ_TIERCACHE_WRITE_BACK;
            insists = false;
            may_use_ssd = true;
            tier_bring_back(&c->memory);
            tier_bring_back(&c->ssd);
            continue;
        }
        uint64_t page = c->memory.policy.pages[frame];
        if (may_use_ssd && c->ssd_in_use && tier_find(&c->ssd, page) == TABLE_NONE && enters_ssd(c, frame)) {
            if (c->ssd.free_count == 0) {
                uint32_t slot = c->ssd.policy.calls->victim(&c->ssd.policy);

                may_use_ssd = slot != TABLE_NONE;
                if (!may_use_ssd)
                    continue;
                if (entries_has(&c->ssd.dirty, slot)) {
                    pgq_tiercache_write_back_for_room(c, c->ssd.policy.pages[slot] / BLOCK_PAGES);
                    continue;
                }
                if (!pgq_tiercache_ssd_evict(c, slot))
                    continue;
            }
            uint32_t slot = pgq_tiercache_ssd_take(c);
            if (slot == TABLE_NONE) {
                pthread_cond_wait(&c->settled, &c->map);
                continue;
            }
            may_use_ssd = move_to_ssd(c, frame, slot, &left);
            continue;
        }
        if (entries_has(&c->memory.dirty, frame)) {
            pgq_tiercache_write_back_for_room(c, page / BLOCK_PAGES);
            continue;
        }
        if (c->ssd_in_use && tier_find(&c->ssd, page) == TABLE_NONE)
            pass_ssd_by(c, frame);
        tier_drop(&c->memory, frame);
        left++;
    }
    return PGQ_OK;
}
