/* SPDX-License-Identifier: PostgreSQL */
/*
 * Recovery, and what is accepted after it: some first changes, with all that were covered, or a refusal that the header names
 * for what happened to the files. Stops of the process and of the machine, after which a recovery comes.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_RECOVERY_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_RECOVERY_H

#include "../tests/tornpage/world_losses.h"

static void found_open(row *r)
{
    world *w = r->dev.world;
    long k = same_shape(r) ? history_find(&r->life, r->store) : -1;

    if (has_lost(r, PGQ_TORNPAGE_CONTROL) || has_lost(r, PGQ_TORNPAGE_LOG))
        world_violation(w, "a store without its file %d was recovered", r->lost);
    if (k >= 0) {
        if ((size_t)k < r->life.n)
            world_count(LOST_CHANGES);
        world_says(w, "%ld of %zu changes found", k, r->life.n);
        history_cover(&r->life, (size_t)k);
        if (r->formatting)
            world_count(FORMAT_OLD_FOUND);
    } else if (r->may_be_new[r->shape] && finds_empty(r->store, shape_of(r))) {
        history_begin(&r->life, shape_of(r));
        r->older_shape = 0;
        world_count(FORMAT_NEW_FOUND);
    } else
        world_violation(w, "recovery found what no first changes have left, of %zu since all was covered",
                        r->life.n);
    r->formatting = r->may_be_new[0] = r->may_be_new[1] = false;
    r->open = true;
    r->since_begin = r->since_point = UINT64_MAX;
    world_count(RECOVERED);
    if (r->loss != WHOLE)
        world_count(r->lost == PGQ_TORNPAGE_DATA ? DATA_FROM_LOG : AREA_NOT_NEEDED);
}

/* A refusal with another code than PGQ_TORNPAGE_IO. torn: the first page of the data file that is not sound. */
static void refused(row *r, pgq_status s, uint32_t torn)
{
    world *w = r->dev.world;
    int protection = shape_of(r)->protection;
    bool right = false;

    switch (s.code) {
    case PGQ_TORNPAGE_NO_STORE:
        right = !r->life.exists || r->formatting || (r->loss == LOST && r->lost == PGQ_TORNPAGE_CONTROL);
        world_count(r->loss == WHOLE ? FORMAT_NONE_FOUND : CONTROL_LOST);
        break;
    case PGQ_TORNPAGE_SHAPE:
        right = (r->life.exists && !same_shape(r)) || r->may_be_new[1 - r->shape];
        world_count(OTHER_SHAPE);
        break;
    case PGQ_TORNPAGE_OTHER_LOG:
        right = has_lost(r, PGQ_TORNPAGE_LOG) || (r->loss == OTHER && r->lost == PGQ_TORNPAGE_CONTROL);
        if (right)
            world_count(r->lost == PGQ_TORNPAGE_CONTROL ? CONTROL_OTHER
                        : r->loss == LOST               ? LOG_LOST
                                                        : LOG_OTHER);
        break;
    case PGQ_TORNPAGE_WRONG_PAGE:
        right = s.index >= 1 && s.index <= shape_of(r)->pages && same_shape(r);
        if (has_lost(r, PGQ_TORNPAGE_DATA)) {
            right = right && (r->loss != CUT || protection == PGQ_TORNPAGE_NONE ||
                              s.index > r->cut / shape_of(r)->block_size);
            world_count(r->loss == CUT ? DATA_CUT : DATA_WRONG);
        } else {
            bool area = has_lost(r, PGQ_TORNPAGE_AREA) && protection == PGQ_TORNPAGE_DOUBLE_WRITE;

            right = right && (area || protection == PGQ_TORNPAGE_NONE) && s.index == torn + 1;
            if (!area)
                world_count(WRONG_PAGE_NONE);
        }
        break;
    default:
        break;
    }
    if (!right)
        world_violation(w, "recovery refused with %d, index %u, the first torn page is %u", s.code, s.index,
                        torn);
}

/* One recovery; true if it gave another code than PGQ_TORNPAGE_IO. */
static bool recover(row *r)
{
    world *w = r->dev.world;
    uint64_t failed = r->dev.failed, writes = r->dev.writes;
    uint32_t torn = first_torn(r);

    r->open = r->failed = false;
    pgq_status s = pgq_tornpage_recover(r->store);
    world_says(w, "recover: %d, %u; %s %d, torn %u", s.code, s.index,
               r->dev.failed != failed ? "failed" : "-", r->loss, torn);
    r->failed = r->dev.failed != failed;
    if (r->failed != (s.code == PGQ_TORNPAGE_IO))
        world_violation(w, "recovery gave %d, %llu operations failed", s.code,
                        (unsigned long long)(r->dev.failed - failed));
    if (s.code != PGQ_TORNPAGE_WRONG_PAGE && s.code != PGQ_TORNPAGE_AHEAD && s.index != 0)
        world_violation(w, "recovery gave %d with index %u", s.code, s.index);
    if (s.code != PGQ_OK && s.code != PGQ_TORNPAGE_IO && r->dev.writes != writes)
        world_violation(w, "recovery refused with %d and has written", s.code);
    if (s.code == PGQ_TORNPAGE_IO) {
        world_count(RECOVERY_IO);
        return false;
    }
    if (r->any_state) {
        world_count(s.code == PGQ_TORNPAGE_AHEAD ? AHEAD : NOT_PROMISED);
        return true;
    }
    if (s.code == PGQ_OK) {
        if (torn < shape_of(r)->pages)
            world_count(TORN_RECOVERED);
        /* A recovery that wrote before it failed may have written the area again. */
        if (has_lost(r, PGQ_TORNPAGE_AREA) && writes == r->writes_before &&
            shape_of(r)->protection == PGQ_TORNPAGE_DOUBLE_WRITE && torn < shape_of(r)->pages)
            world_violation(w, "page %u is torn, the area is lost, and recovery says nothing", torn);
        found_open(r);
        return true;
    }
    refused(r, s, torn);
    failed = r->dev.failed;
    if (w->violated || r->dev.stops_at != 0)
        return true;
    pgq_status again = pgq_tornpage_recover(r->store); /* a refusal stays, without a fault */
    r->failed = r->dev.failed != failed;
    if (!r->failed && (again.code != s.code || again.index != s.index))
        world_violation(w, "recovery refused with %d, then with %d", s.code, again.code);
    return true;
}

static void arm(row *r)
{
    world *w = r->dev.world;
    bool power = world_comes(w, WORLD_POWER_LOSS);

    if (r->dev.stops_at == 0 && (power || world_comes(w, WORLD_KILL)))
        device_stop_after(&r->dev, 1 + world_below(w, UINT64_C(1) << world_below(w, 7)), power);
}

static void end_process(row *r, bool power)
{
    pgq_tornpage_destroy(r->store);
    device_restart(&r->dev, power);
    new_store(r);
}

static void after_stop(row *r)
{
    if (!r->dev.stopped)
        return;
    world_count(r->dev.power ? POWER_LOSSES : KILLS);
    world_says(r->dev.world, r->dev.power ? "power loss" : "kill");
    end_process(r, r->dev.power);
}

/* Recoveries, with faults and stops in them, until one ends or there were enough. */
static void reopen(row *r)
{
    world *w = r->dev.world;

    for (int attempt = 0; attempt < 4 && !w->violated; attempt++) {
        bool faulty = attempt < 3 && r->loss == WHOLE && world_one_in(w, 2);

        if (attempt > 0)
            world_count(RECOVERY_REPEATED);
        if (faulty)
            arm(r);
        else if (!world_one_in(w, 8)) {
            device_quiet(&r->dev, true);
            r->dev.stops_at = 0;
        }
        bool done = recover(r);
        device_quiet(&r->dev, false);
        if (done && r->loss != WHOLE) {
            find_file(r);
            if (!r->open && !r->any_state)
                continue;
        }
        after_stop(r);
        if (done)
            break;
    }
    world_count(RESTARTS_CHECKED);
}

static void after_all_stops(row *r)
{
    while (r->dev.stopped && !r->dev.world->violated) {
        after_stop(r);
        if (world_one_in(r->dev.world, same_shape(r) && needs_area(r) ? 3 : 16))
            lose_file(r);
        reopen(r);
    }
}

/* The header promises nothing here but the codes, and that memory is not hurt; a format makes a store again. */
static void tamper(row *r)
{
    world *w = r->dev.world;

    hurt_files(r);
    device_quiet(&r->dev, true);
    recover(r);
    device_quiet(&r->dev, false);
    while (r->any_state && !w->violated) {
        device_quiet(&r->dev, world_one_in(w, 2));
        format(r);
        after_stop(r);
    }
    device_quiet(&r->dev, false);
}

#endif
