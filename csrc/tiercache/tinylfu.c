/* SPDX-License-Identifier: PostgreSQL */
/*
 * W-TinyLFU with a window that adapts (Einziger, Friedman, Manes: "TinyLFU", ACM TOS 2017; Einziger, Eytan, Friedman, Manes:
 * "Adaptive Software Cache Management", Middleware 2018). New pages stand in a window, least recently used. Who leaves it
 * meets the oldest of the main pages, and the one asked for more often lately stays. Main pages that are used again are
 * protected, up to four fifths of them; what is too much goes back. A small window suits pages that are asked for at a
 * steady rate, and scans, a large one suits pages that are asked for in bursts.
 *
 * After each 10 * frames references the window grows or shrinks by a sixteenth of the frames, the same way as the last
 * time, unless there were fewer hits than in the period before; and what was counted is halved. Frames that a cleaner keeps free do not
 * count: otherwise the window's share would grow at the cost of the main pages.
 *
 * When other pages become the hot ones, the old ones win by their counts for long. So the counts come to be doubted: pages that
 * have lost by them come back soon, and more hits are missing than in the period before. Then main pages that had no hit since
 * leave, whatever their counts, and after that period the window grows. A loop over more pages than there are frames misses
 * all others in a row, and is no reason to doubt. Nor is the first scan of a table that has as many pages: `caution`. A page that leaves in a doubt lowers
 * it, down to an eighth of the frames; one that comes back in the same doubt raises it, by eight.
 *
 * Other than in the papers: the doubt; the step does not shrink (traces change), the counters have four bits of a byte each, and a
 * page that was counted often is not let in by chance now and then.
 */
#include "tiercache/policy.h"

enum { WINDOW = SMALL, PERIOD = 10, STEP_SHARE = 16, WINDOW_SHARE = 100, LEAST_SHARE = 8, REGRET = 8 };

static uint32_t at_least_one(uint32_t n)
{
    return n > 0 ? n : 1;
}

static uint32_t four_fifths(uint32_t n)
{
    return (uint32_t)((uint64_t)n * 4 / 5);
}

static void move(policy *p, uint32_t entry, unsigned q)
{
    queue_leave(p, entry);
    queue_join(p, q, entry);
}

static uint32_t most_of_window(const policy *p)
{
    return at_least_one(four_fifths(p->holds));
}

static void adapt(policy *p)
{
    uint32_t step = at_least_one(p->holds / STEP_SHARE), most = most_of_window(p);

    p->shrinks = !p->has_doubted && p->shrinks != (p->found < p->found_before);
    p->has_doubted = false;
    if (p->shrinks)
        p->window = p->window > step ? p->window - step : 1;
    else
        p->window = p->window + step < most ? p->window + step : most;
    p->found_before = p->found;
    p->found = 0;
    p->references = 0;
    sketch_halve(&p->counts);
}

/* A page is found, or is back that had left by its count. */
static void weigh(policy *p, bool found)
{
    uint64_t period = (uint64_t)PERIOD * p->holds;
    uint64_t before = p->found_before < period ? p->found_before : period, gained = period - before;

    if (p->doubts > 0)
        return;
    if (found) {
        p->lost = p->lost > gained ? p->lost - gained : 0;
        return;
    }
    p->lost += before;
    if (p->lost <= p->holds * gained + p->caution * period)
        return;
    p->lost = 0;
    p->doubts = p->holds;
    p->doubt++;
    p->has_doubted = true;
}

/* A page comes that has left lately. true: by its count. Who doubted it should not have. */
static bool comes_back(policy *p, uint32_t ghost)
{
    bool regrets = p->doubts > 0 && p->hits[ghost] == p->doubt;

    ghost_forget(p, ghost);
    if (!regrets)
        return true;
    p->doubts = p->doubts > REGRET ? p->doubts - REGRET : 0;
    p->caution = p->caution + REGRET < 2 * p->holds ? p->caution + REGRET : 2 * p->holds;
    return false;
}

/* A page was asked for. Then window and protected pages are no more than they may be. */
static void count(policy *p, uint64_t page, bool found)
{
    if (p->window == 0)
        p->window = at_least_one(p->n / WINDOW_SHARE);
    if (p->window > most_of_window(p))
        p->window = most_of_window(p);
    sketch_add(&p->counts, page);
    p->found += found;
    if (++p->references >= (uint64_t)PERIOD * p->holds)
        adapt(p);
    HOLDS(1 <= p->window && p->window <= most_of_window(p));
    while (p->queues[WINDOW].count > p->window)
        move(p, p->queues[WINDOW].tail, MAIN);
    while (p->queues[PROTECTED].count > four_fifths(p->holds - p->window))
        move(p, p->queues[PROTECTED].tail, MAIN);
}

static void insert(policy *p, uint32_t entry, uint64_t page)
{
    uint32_t ghost = table_get(&p->ghosts, page);

    if (ghost != TABLE_NONE && comes_back(p, ghost))
        weigh(p, false);
    p->pages[entry] = page;
    p->hits[entry] = p->doubt;
    queue_join(p, WINDOW, entry);
    count(p, page, false);
}

static void hit(policy *p, uint32_t entry)
{
    unsigned q = p->queue_of[entry];

    if (q != ASIDE)
        move(p, entry, q == WINDOW ? WINDOW : PROTECTED);
    p->hits[entry] = p->doubt;
    weigh(p, true);
    count(p, p->pages[entry], true);
}

static bool is_doubted(const policy *p, uint32_t entry)
{
    return p->doubts > 0 && entry != TABLE_NONE && p->hits[entry] != p->doubt;
}

static uint32_t victim(policy *p)
{
    uint32_t newcomer = p->queues[WINDOW].tail;
    uint32_t last = p->queues[MAIN].tail, last_protected = p->queues[PROTECTED].tail;
    uint32_t oldest = last != TABLE_NONE && !is_doubted(p, last_protected) ? last : last_protected;

    if (newcomer == TABLE_NONE || oldest == TABLE_NONE)
        return newcomer == TABLE_NONE ? oldest : newcomer;
    if (p->queues[WINDOW].count < p->window)
        return oldest;
    if (!is_doubted(p, oldest)) {
        p->doubts = 0;
        if (sketch_count(&p->counts, p->pages[newcomer]) <= sketch_count(&p->counts, p->pages[oldest]))
            return newcomer;
    }
    p->hits[newcomer] = p->doubt;
    move(p, newcomer, MAIN);
    return oldest;
}

/* Who leaves the window has lost by its count. */
static void leave(policy *p, uint32_t entry, bool evicted)
{
    unsigned q = p->queue_of[entry];

    if (evicted && q == WINDOW) {
        p->hits[ghost_remember(p, entry)] = (uint8_t)(p->doubt - 1);
    } else if (evicted && (q == MAIN || q == PROTECTED) && p->doubts > 0) {
        p->hits[ghost_remember(p, entry)] = p->doubt;
        p->doubts--;
        p->caution -= p->caution > p->holds / LEAST_SHARE;
    }
    queue_leave(p, entry);
}

/* It counts, so that who was asked for often of late wins against what is there. */
static void pass(policy *p, uint64_t page)
{
    count(p, page, false);
}

const policy_calls pgq_tiercache_tinylfu = {insert, hit, victim, leave, pass};

pgq_status pgq_tiercache_policy_tinylfu(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    return pgq_tiercache_policy_replay(&pgq_tiercache_tinylfu, pages, n, frames, hits);
}
