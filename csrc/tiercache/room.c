/* SPDX-License-Identifier: PostgreSQL */
/*
 * How room is made in memory: pages leave it for the SSD, or are written back. By who needs it, or before, by a cleaner.
 *
 * A cleaner writes to the SSD page by page. Once that is full, free slots seldom lie side by side: of eight writes in a row those
 * to neighbouring slots, as one, would save 5 % of the requests on a server's trace, and 21 and 28 % on two made ones, be the slots
 * handed out in ascending order or not. And a dirty victim is not passed over for a clean page near it. With the next eight looked
 * at, one call in two to four that waited for a write-back still does; but hits on the server's trace were up to 6 points fewer, or
 * up to 5 more. bench/README.md has what was counted.
 */
#include "tiercache/internal.h"

enum { LOOKS = 8 }; /* doomed pages of which one leaves */

/* A clean page that was asked for once. */
static bool is_once(const pgq_tiercache *c, uint32_t frame)
{
    return c->touches[frame] < TWICE && !c->memory.dirty[frame];
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
 * in memory: the slot has old contents. One that the slot could not take stays as well; if it is doomed, it is as before, behind the
 * others. *left: one more, if the page has left. false: the SSD could not take it.
 */
static bool move_to_ssd(pgq_tiercache *c, uint32_t frame, uint32_t slot, uint32_t *left)
{
    uint64_t page = c->memory.policy.pages[frame], version = c->memory.versions[frame];
    bool remembered = is_once(c, frame), doomed = c->memory.policy.queue_of[frame] == DOOMED;
    slot_image image;

    HOLDS(IS_LOCKED(&c->map) && c->users[slot] == 1 && !c->leaving[frame]);
    c->memory.policy.calls->remove(&c->memory.policy, frame, true);
    c->leaving[frame] = true;
    c->leaves++;
    pgq_tiercache_ssd_prepare(c, frame, &image);
    unlock_map(c);
    bool put = pgq_tiercache_ssd_put(c, slot, &image);
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    HOLDS(c->leaving[frame] && c->leaves > 0 && c->users[slot] == 1 && tier_find(&c->memory, page) == frame);
    (void)close_frame(c, frame);
    c->leaving[frame] = false;
    c->leaves--;
    if (put && c->memory.versions[frame] == version) {
        entries_remove(&c->stale, slot);
        c->ssd_unsynced = true;
        tier_put(&c->ssd, slot, page, version, c->memory.dirty[frame]);
        empty_frame(c, frame);
        if (remembered)
            once_add(&c->once, page);
        ++*left;
    } else {
        slot_is_stale(c, slot);
        if (doomed && c->memory.versions[frame] == version)
            queue_join(&c->memory.policy, DOOMED, frame);
        else
            c->memory.policy.calls->insert(&c->memory.policy, frame, page);
    }
    pgq_tiercache_ssd_release(c, slot);
    return put;
}

/* A call that makes room. */
typedef struct making {
    bool may_use_ssd; /* it has taken what it was given */
    bool cleans;      /* it is a cleaner's */
    uint32_t left;    /* pages that have left */
} making;

/* The mutex of write-backs is not fair: a cleaner would have it again before an fsync that waits for it. */
static void write_back(pgq_tiercache *c, const making *m, uint64_t page)
{
    if (m->cleans && c->flushes > 0)
        wait_with_map(c, &c->flush_begins);
    else
        pgq_tiercache_write_back_for_room(c, page / BLOCK_PAGES);
    pgq_tiercache_tell_hits(c);
}

/* A clean page leaves the SSD, or a dirty one is written back. true: a slot is free now. */
static bool free_a_slot(pgq_tiercache *c, making *m)
{
    uint32_t slot = c->ssd.policy.calls->victim(&c->ssd.policy);

    m->may_use_ssd = slot != TABLE_NONE;
    if (!m->may_use_ssd)
        return false;
    if (c->ssd.dirty[slot]) {
        write_back(c, m, c->ssd.policy.pages[slot]);
        return false;
    }
    return pgq_tiercache_ssd_evict(c, slot);
}

/* A slot has no users any more, or a frame is not leaving any more. */
static void wait_for_others(pgq_tiercache *c)
{
    wait_with_map(c, &c->settled);
    pgq_tiercache_tell_hits(c);
}

static void step_to_ssd(pgq_tiercache *c, making *m, uint32_t frame)
{
    if (c->ssd.free_count == 0 && !free_a_slot(c, m))
        return;
    uint32_t slot = pgq_tiercache_ssd_take(c);
    if (slot == TABLE_NONE)
        wait_for_others(c);
    else
        m->may_use_ssd = move_to_ssd(c, frame, slot, &m->left);
}

static bool goes_to_ssd(const pgq_tiercache *c, const making *m, uint32_t frame)
{
    bool below = c->ssd_in_use && tier_find(&c->ssd, c->memory.policy.pages[frame]) == TABLE_NONE;

    return m->may_use_ssd && below && enters_ssd(c, frame);
}

/*
 * The next victim. If pages are doomed: of the first LOOKS of them, for a cleaner the first one that needs a write, and for others, who
 * wait, the first one that needs none; or else the first of all. If a cleaner does not keep up, that takes away nearly all waits for a
 * write-back without an SSD, and half of them with one, beside the order in which they were doomed (bench/README.md).
 */
static uint32_t next_to_leave(pgq_tiercache *c, const making *m)
{
    policy *p = &c->memory.policy;
    uint32_t first = p->queues[DOOMED].tail, frame = first;

    if (first == TABLE_NONE)
        return p->calls->victim(p);
    for (int looks = 0; looks < LOOKS && frame != TABLE_NONE; looks++, frame = p->newer[frame])
        if ((c->memory.dirty[frame] || goes_to_ssd(c, m, frame)) == m->cleans)
            return frame;
    return first;
}

/*
 * Who leaves next goes to the SSD if it is to enter, unless the SSD has it. Otherwise, or if the SSD cannot take it, a
 * clean one goes, and a dirty one is written back first. Whatever releases `map` is a reason to look at all anew: it ends the step.
 *
 * A page that could not be written back is set aside, and the next victim is asked. false: there is none.
 */
static bool step_to_room(pgq_tiercache *c, making *m)
{
    uint32_t frame = next_to_leave(c, m);

    if (frame == TABLE_NONE)
        return false;
    uint64_t page = c->memory.policy.pages[frame];
    bool below = c->ssd_in_use && tier_find(&c->ssd, page) == TABLE_NONE;
    if (goes_to_ssd(c, m, frame)) {
        step_to_ssd(c, m, frame);
        return true;
    }
    if (c->memory.dirty[frame]) {
        write_back(c, m, page);
        return true;
    }
    if (close_frame(c, frame))
        return true;
    if (below)
        pass_ssd_by(c, frame);
    HOLDS(!c->memory.dirty[frame]); /* its contents would be lost */
    c->memory.policy.calls->remove(&c->memory.policy, frame, true);
    empty_frame(c, frame);
    m->left++;
    return true;
}

/*
 * While a cleaner keeps frames free, the policy chooses when pages come, `wanted` now, as it does in a cache of so many frames less.
 * What it chooses is doomed: it stays until it leaves in a call of the cleaner's. The cleaner itself must not choose: it would
 * before the pages that have just come were used, and W-TinyLFU chooses these first.
 */
static void doom(pgq_tiercache *c, uint32_t wanted)
{
    policy *p = &c->memory.policy;
    uint32_t staying = c->memory.n - c->memory.free_count - p->queues[DOOMED].count - c->leaves;

    HOLDS(IS_LOCKED(&c->map) && staying <= c->memory.n); /* no frame is counted twice */
    for (; c->kept > 0 && staying + wanted > c->memory.n - c->kept; staying--) {
        uint32_t frame = p->calls->victim(p);

        if (frame == TABLE_NONE)
            return;
        policy_doom(p, frame);
    }
}

/* If no victim is left, what was set aside before this call is tried once more if the caller insists; but pages that are leaving are
   waited for before. */
pgq_code pgq_tiercache_make_room(pgq_tiercache *c, uint32_t wanted, bool insists)
{
    making m = {.may_use_ssd = true};

    doom(c, wanted);
    insists &= c->memory.policy.queues[ASIDE].count + c->ssd.policy.queues[ASIDE].count > 0;
    while (m.left < wanted && c->memory.free_count < wanted) {
        if (step_to_room(c, &m))
            continue;
        if (c->leaves > 0) {
            wait_for_others(c);
            continue;
        }
        if (!insists)
            return PGQ_TIERCACHE_WRITE_BACK;
        insists = false;
        m.may_use_ssd = true;
        tier_bring_all_back(&c->memory);
        tier_bring_all_back(&c->ssd);
    }
    return PGQ_OK;
}

/* Pages are doomed. If none are, and no frame is free, some are now: what was doomed could not be written back, or nobody has needed
   room since. */
static bool has_doomed(pgq_tiercache *c)
{
    if (c->memory.policy.queues[DOOMED].count == 0 && c->memory.free_count == 0)
        doom(c, 0);
    return c->memory.policy.queues[DOOMED].count > 0;
}

/* What was set aside stays so: a loop of calls makes no requests to a store that fails. */
pgq_status pgq_tiercache_clean(pgq_tiercache *c, uint32_t frames, uint32_t steps, uint32_t *pages_left)
{
    making m = {.may_use_ssd = true, .cleans = true};

    if (c == NULL || pages_left == NULL)
        return refused(PGQ_NULL, 0);
    if (frames > c->options.frames / 2)
        return refused(PGQ_TIERCACHE_OPTIONS, 0);
    lock_map(c);
    pgq_tiercache_tell_hits(c);
    if (frames != c->kept) {
        c->kept = frames;
        c->memory.policy.holds = c->memory.n - frames;
        doom(c, 0);
    }
    for (uint32_t step = 0; step < steps && has_doomed(c);) {
        bool may_use_ssd = m.may_use_ssd;

        (void)step_to_room(c, &m);
        /* That the SSD takes nothing is no step: calls of one step would ask it for ever, and no page would leave. */
        step += m.may_use_ssd == may_use_ssd;
    }
    /* Another call may have ended the cleaning meanwhile. */
    bool stuck = c->kept > 0 && !has_doomed(c) && c->memory.free_count == 0 && c->leaves == 0;
    *pages_left = c->memory.policy.queues[DOOMED].count;
    unlock_map(c);
    return (pgq_status){stuck ? PGQ_TIERCACHE_WRITE_BACK : PGQ_OK, 0};
}
