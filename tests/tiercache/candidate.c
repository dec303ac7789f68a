/* SPDX-License-Identifier: PostgreSQL */
/*
 * The policy `candidate`: the functions of candidate.h, and around each call what the contract says of it. The model is a
 * set of the entries that hold pages; what is pinned are those in ASIDE, and what leaves already are those in DOOMED.
 */
#include "../tests/tiercache/candidate.h"

#include "../tools/judge/watch.h"

#include <string.h>

extern const policy_calls pgq_judge_calls;
pgq_status pgq_judge_candidate(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits);

enum { MOST = 1024 }; /* entries; a policy of more is called as it is */
static const uint8_t ABSENT = QUEUES;

/* Where the entries stand, as the queues' links say; ABSENT: in none. */
typedef struct places {
    uint8_t of[MOST];
} places;

static void walk(const policy *p, uint8_t q, places *found)
{
    uint32_t newer = TABLE_NONE, n = 0;

    for (uint32_t e = p->queues[q].head; e != TABLE_NONE; newer = e, e = p->older[e], n++) {
        if (e >= p->n)
            pgq_judge_breaks("an entry that holds no page is in a queue of those that do");
        if (found->of[e] != ABSENT || p->queue_of[e] != q || p->newer[e] != newer)
            pgq_judge_breaks("the links of a queue are broken");
        found->of[e] = q;
    }
    if (p->queues[q].tail != newer || p->queues[q].count != n)
        pgq_judge_breaks("the end or the count of a queue is wrong");
}

static void look(const policy *p, places *found)
{
    memset(found->of, ABSENT, p->n);
    for (uint8_t q = SMALL; q < QUEUES; q++)
        if (q != GHOST)
            walk(p, q, found);
}

/* After a call: only `entry` (TABLE_NONE: none) has come or gone, and nobody was pinned or let go. */
static void compare(const policy *p, const places *before, uint32_t entry, bool is_there)
{
    places now;

    look(p, &now);
    for (uint32_t e = 0; e < p->n; e++) {
        bool was = before->of[e] != ABSENT, is = now.of[e] != ABSENT;

        if (is != (e == entry ? is_there : was))
            pgq_judge_breaks(is ? "an entry that holds no page stands in a queue"
                                : "an entry that holds a page is in no queue");
        if (was && is && (before->of[e] == ASIDE) != (now.of[e] == ASIDE))
            pgq_judge_breaks("it has pinned a page, or let a pinned one go: the cache alone does that");
        if (was && is && (before->of[e] == DOOMED) != (now.of[e] == DOOMED))
            pgq_judge_breaks("it has doomed a page, or saved one: the cache alone does that");
    }
    if (is_there && (now.of[entry] == ASIDE || now.of[entry] == DOOMED))
        pgq_judge_breaks("it has pinned or doomed a page that came");
}

static size_t size_of(const policy *p)
{
    return (2 * (size_t)p->n + 1) * (2 * sizeof *p->newer + sizeof *p->pages + 2) +
           (size_t)(p->ghosts.mask + 1) * sizeof *p->ghosts.entries +
           (size_t)(p->counts.mask + 1) * (sizeof *p->counts.blocks + sizeof *p->counts.halved);
}

/* All arrays of a policy to bytes, or from there. */
static void copy(policy *p, uint8_t *bytes, bool back)
{
    size_t all = 2 * (size_t)p->n + 1;
    struct {
        void *array;
        size_t size;
    } parts[] = {{p->newer, all * sizeof *p->newer},
                 {p->older, all * sizeof *p->older},
                 {p->pages, all * sizeof *p->pages},
                 {p->queue_of, all},
                 {p->hits, all},
                 {p->ghosts.entries, (size_t)(p->ghosts.mask + 1) * sizeof *p->ghosts.entries},
                 {p->counts.blocks, (size_t)(p->counts.mask + 1) * sizeof *p->counts.blocks},
                 {p->counts.halved, (size_t)(p->counts.mask + 1) * sizeof *p->counts.halved}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        memcpy(back ? parts[i].array : (void *)bytes, back ? (void *)bytes : parts[i].array, parts[i].size);
        bytes += parts[i].size;
    }
}

/* The victim of a policy that is then as it was before. */
static uint32_t asked_before(policy *p)
{
    policy was = *p;
    uint8_t *bytes = (malloc)(size_of(p)); /* the real one, that no world makes fail */

    if (bytes == NULL)
        abort();
    copy(p, bytes, false);
    uint32_t entry = candidate_victim(p);
    *p = was;
    copy(p, bytes, true);
    (free)(bytes);
    return entry;
}

static void judge_victim(const policy *p, const places *before, uint32_t entry)
{
    bool any = false;

    for (uint32_t e = 0; e < p->n; e++)
        any |= before->of[e] != ABSENT && before->of[e] != ASIDE && before->of[e] != DOOMED;
    if (entry == TABLE_NONE) {
        if (any)
            pgq_judge_breaks("it names no victim, though a page can leave");
        return;
    }
    if (entry >= p->n || before->of[entry] == ABSENT)
        pgq_judge_breaks("its victim holds no page");
    if (before->of[entry] == ASIDE)
        pgq_judge_breaks("it evicts a pinned page: its victim stands ASIDE");
    if (before->of[entry] == DOOMED)
        pgq_judge_breaks("its victim is leaving already: it stands in DOOMED");
}

static bool checks(const policy *p)
{
    return p->n <= MOST;
}

/* ---- the calls ------------------------------------------------------------------------------------------------------- */

static void insert(policy *p, uint32_t entry, uint64_t page)
{
    places before;

    if (!checks(p)) {
        candidate_insert(p, entry, page);
        return;
    }
    look(p, &before);
    candidate_insert(p, entry, page);
    compare(p, &before, entry, true);
    if (p->pages[entry] != page)
        pgq_judge_breaks("an entry does not name the page that came to it");
}

static void hit(policy *p, uint32_t entry)
{
    places before;

    if (!checks(p)) {
        candidate_hit(p, entry);
        return;
    }
    look(p, &before);
    candidate_hit(p, entry);
    compare(p, &before, TABLE_NONE, false);
}

static uint32_t victim(policy *p)
{
    places before;

    if (!checks(p))
        return candidate_victim(p);
    look(p, &before);
    uint32_t first = asked_before(p);
    uint32_t entry = candidate_victim(p);
    judge_victim(p, &before, entry);
    if (first != entry)
        pgq_judge_breaks(
            "asked again, with all in *p as it was, it names another victim: it keeps state elsewhere");
    compare(p, &before, TABLE_NONE, false);
    return entry;
}

static void leave(policy *p, uint32_t entry, bool evicted)
{
    places before;

    if (!checks(p)) {
        candidate_remove(p, entry, evicted);
        return;
    }
    look(p, &before);
    candidate_remove(p, entry, evicted);
    compare(p, &before, entry, false);
}

static void pass(policy *p, uint64_t page)
{
    places before;

    if (!checks(p)) {
        candidate_pass(p, page);
        return;
    }
    look(p, &before);
    candidate_pass(p, page);
    compare(p, &before, TABLE_NONE, false);
}

const policy_calls pgq_judge_calls = {insert, hit, victim, leave, pass};

pgq_status pgq_judge_candidate(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    return pgq_tiercache_policy_replay(&pgq_judge_calls, pages, n, frames, hits);
}
