/* SPDX-License-Identifier: PostgreSQL */
/*
 * The open of a cache in the world of tiercache, with its checks: what it finds in the SSD's place, and when it may refuse.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_WORLD_OPEN_H
#define PGQUERN_TESTS_TIERCACHE_WORLD_OPEN_H

#include "../tests/tiercache/world_calls.h"

enum { RIGHT, BAD_STORE, BAD_CONTROL };

static void check_found(site *s, const faults *before)
{
    pgq_tiercache_counts is = pgq_tiercache_count(s->cache);
    bool failed = s->failed.ssd != before->ssd;

    world_count(SSD_NONE + (unsigned)is.ssd_found);
    if (is.ssd_taken_over > 0)
        world_count(TAKEN_OVER);
    world_says(s->world, "  found %d, %llu taken over", (int)is.ssd_found,
               (unsigned long long)is.ssd_taken_over);
    if ((is.ssd_found == PGQ_TIERCACHE_SSD_NONE) != (s->options.slots == 0) ||
        (is.ssd_found == PGQ_TIERCACHE_SSD_FAILED && !failed) ||
        (is.ssd_in_use != (s->options.slots > 0) && !failed))
        world_violation(s->world, "open found %d in the place of the SSD, in use: %d", (int)is.ssd_found,
                        is.ssd_in_use);
    if (s->finds >= 0 && s->options.slots > 0 && !failed && (int)is.ssd_found != s->finds)
        world_violation(s->world, "open found %d in the place of the SSD, where %d is", (int)is.ssd_found,
                        s->finds);
    if ((s->mount == 0 || s->control_is_new) &&
        ((is.ssd_found == PGQ_TIERCACHE_SSD_OURS && s->refusals == 0) || is.ssd_taken_over > 0))
        world_violation(s->world, "the control file is new, but the SSD counts as ours");
    if (is.ssd_found == PGQ_TIERCACHE_SSD_OURS && s->refusals == 0 &&
        (s->options.slots != s->opened.slots || s->options.ssd_block != s->opened.ssd_block))
        world_violation(s->world, "an SSD of other options counts as ours");
    if (s->options.slots > 0 && s->mount > 0 && !s->control_is_new && s->refusals == 0 && !s->ssd_changed &&
        s->failed.ssd == s->at_open.ssd && is.ssd_found != PGQ_TIERCACHE_SSD_OURS)
        world_violation(s->world, "nothing has happened to the SSD, but open found %d", (int)is.ssd_found);
}

static bool open_is_allowed_to_fail(const site *s, const faults *before, int wrong, pgq_code code)
{
    switch (code) {
    case PGQ_TIERCACHE_CONTROL:
        return wrong == BAD_CONTROL || s->failed.control != before->control;
    case PGQ_TIERCACHE_STORE:
        return wrong == BAD_STORE;
    case PGQ_TIERCACHE_READ:
        return s->failed.store_read != before->store_read;
    case PGQ_TIERCACHE_WRITE_BACK: /* an open writes again what the store has: it may have been written, and not synced */
        return wrote_badly(s, before) || s->failed.store_read != before->store_read;
    case PGQ_TIERCACHE_RANDOM:
        return s->failed.random != before->random;
    default:
        return false;
    }
}

static void count_refusal(pgq_code code, int wrong)
{
    world_count(wrong == BAD_STORE              ? WRONG_STORE
                : wrong == BAD_CONTROL          ? WRONG_CONTROL
                : code == PGQ_TIERCACHE_CONTROL ? REFUSED_CONTROL
                : code == PGQ_TIERCACHE_READ    ? REFUSED_READ
                : code == PGQ_TIERCACHE_RANDOM  ? REFUSED_RANDOM
                                                : REFUSED_WRITE_BACK);
}

/* What stood on the SSD is used again, and a page that nothing has happened to is as it was. */
static void check_what_stays(site *s)
{
    for (uint64_t i = 0; i < s->options.pages; i++) {
        page *p = &s->pages[i];
        versions now[SECTORS];

        memcpy(now, p->now, sizeof now);
        has_crashed(p);
        if (!s->stays[i] || s->ssd_changed || s->control_is_new || s->refusals > 0 ||
            s->failed.ssd != s->at_open.ssd)
            continue;
        memcpy(p->now, now, sizeof now);
        world_count(STAYS);
    }
}

/* true: it is open. */
static bool open_site(site *s, int wrong)
{
    pgq_tiercache_files files = {s, site_read, site_write, site_sync, site_random};

    s->randoms = 0;
    s->cache = (pgq_tiercache *)s; /* a refusal leaves it alone */
    faults before = begin_call(s);
    pgq_status status = pgq_tiercache_open(&files, &s->options, &s->cache);
    end_call();
    world_says(s->world, "  site %u open, mount %u: %d, wrong %d", s->number, s->mount, (int)status.code,
               wrong);
    if (s->randoms > 1)
        world_violation(s->world, "open has asked for random numbers %u times", s->randoms);
    if (status.code != PGQ_OK) {
        s->refusals++;
        s->finds = -1;
        count_refusal(status.code, wrong);
        if (s->cache != (pgq_tiercache *)s)
            world_violation(s->world, "an open that was refused has changed its result");
        s->cache = NULL;
        if (!open_is_allowed_to_fail(s, &before, wrong, status.code))
            surprise(s, "the open, mount", s->mount, status);
        return false;
    }
    world_count(OPENS);
    if (s->refusals > 0)
        world_count(OPENS_AFTER_REFUSAL);
    if (wrong != RIGHT)
        world_violation(s->world, "open takes a %s that is not right",
                        wrong == BAD_STORE ? "store" : "control file");
    check_found(s, &before);
    check_what_stays(s);
    s->at_open = before;
    s->opened = s->options;
    s->at_fsync = s->failed;
    s->mount++;
    s->refusals = s->fsyncs = 0;
    s->ssd_changed = s->control_is_new = s->owes_error = s->torn = false;
    s->finds = -1;
    return true;
}

#endif
