/* SPDX-License-Identifier: PostgreSQL */
/*
 * The calls of a cache in the world of tiercache, each with its checks: what a read gives is in the page's history, and a call
 * fails only if an operation has failed that allows it.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_WORLD_CALLS_H
#define PGQUERN_TESTS_TIERCACHE_WORLD_CALLS_H

#include "../tests/tiercache/world_site.h"

static faults begin_call(site *s)
{
    s->pages_failed = 0;
    s->all_failed = false;
    calls = s;
    return s->failed;
}

static void end_call(void)
{
    calls = NULL;
}

static bool wrote_badly(const site *s, const faults *since)
{
    return s->failed.store_write != since->store_write || s->failed.control != since->control;
}

static void surprise(site *s, const char *call, uint64_t number, pgq_status status)
{
    world_violation(s->world, "%s %llu of site %u fails with %d, index %u, and nothing allows it", call,
                    (unsigned long long)number, s->number, (int)status.code, status.index);
}

/*
 * An fsync rules out PGQ_TIERCACHE_LOST until the cache is opened again. A slot that was dirty then still says so on the SSD.
 * If it cannot be read after another open, nobody knows whether the store has the page.
 */
static bool may_be_lost(const site *s, const page *p, const page *then, uint32_t where)
{
    return s->failed.ssd != s->at_open.ssd && (where & PGQ_TIERCACHE_IN_MEMORY) == 0 &&
           (then->written || begun_since(p, then) != 0 || then->mount != s->mount);
}

/* A clean page in memory makes room for the one that is read; what was set aside, and written later, is clean. */
static bool has_room(const site *s)
{
    for (uint64_t i = 0; i < s->options.pages; i++)
        if ((pgq_tiercache_where(s->cache, i) & (PGQ_TIERCACHE_IN_MEMORY | PGQ_TIERCACHE_MEMORY_DIRTY)) ==
            PGQ_TIERCACHE_IN_MEMORY)
            return true;
    return false;
}

static void read_page(site *s, uint64_t number)
{
    uint64_t contents[PAGE / 8];
    unsigned found[SECTORS];
    page *p = &s->pages[number], then = *p;
    uint32_t where = s->threads ? 0 : pgq_tiercache_where(s->cache, number);
    pgq_tiercache_counts was = pgq_tiercache_count(s->cache);
    bool keeps = !s->threads && has_room(s);

    s->read_last = number;
    faults before = begin_call(s);
    pgq_status status = pgq_tiercache_read(s->cache, number, contents);
    end_call();
    world_says(s->world, "  site %u read %llu: %d, was at %u", s->number, (unsigned long long)number,
               (int)status.code, where);
    if (status.code == PGQ_TIERCACHE_READ) {
        world_count(READ_FAILED);
        if (s->failed.store_read == before.store_read || (where & PGQ_TIERCACHE_IN_MEMORY) != 0)
            surprise(s, "a read of page", number, status);
    } else if (status.code == PGQ_TIERCACHE_LOST) {
        world_count(LOST);
        if (!may_be_lost(s, p, &then, where))
            surprise(s, "a read of page", number, status);
    } else if (status.code != PGQ_OK) {
        surprise(s, "a read of page", number, status);
    } else if (!versions_of(contents, s->number, number, found)) {
        world_violation(s->world, "page %llu of site %u holds what was never written to it",
                        (unsigned long long)number, s->number);
    } else if (!may_read(p, &then, found)) {
        world_violation(s->world,
                        "page %llu of site %u has versions %u %u %u %u, may have %llx in its first sector",
                        (unsigned long long)number, s->number, found[0], found[1], found[7], found[15],
                        (unsigned long long)then.now[0]);
    } else {
        has_read(p, &then, found);
        world_count(CHECKED_PAGES);
    }
    if (!s->threads && wrote_badly(s, &before))
        s->owes_error = true;
    pgq_tiercache_counts is = pgq_tiercache_count(s->cache);
    if (is.ssd_hits > was.ssd_hits)
        world_count(SSD_HITS);
    if (is.store_reads > was.store_reads)
        world_count(STORE_READS);
    if (!s->threads && status.code == PGQ_OK &&
        is.memory_hits + is.ssd_hits + is.store_reads != was.memory_hits + was.ssd_hits + was.store_reads + 1)
        world_violation(s->world, "a read counts as more than one, or none");
    if (!s->threads && status.code == PGQ_OK && (where & PGQ_TIERCACHE_IN_MEMORY) != 0 &&
        is.memory_hits != was.memory_hits + 1)
        world_violation(s->world, "a read of a page in memory is no hit");
    if (keeps && status.code == PGQ_OK &&
        (pgq_tiercache_where(s->cache, number) & PGQ_TIERCACHE_IN_MEMORY) == 0)
        world_violation(s->world, "page %llu was read, and is not in memory, though a clean page was",
                        (unsigned long long)number);
    if (s->options.slots > 0 && !is.ssd_in_use && s->failed.ssd == s->at_open.ssd)
        world_violation(s->world, "the SSD is not in use, though it never failed");
}

/* A write may fail only if each page in memory is dirty, and this call has failed to write it back. */
static void check_no_room(site *s, const uint32_t where[], uint64_t number, pgq_status status)
{
    if ((where[number] & PGQ_TIERCACHE_IN_MEMORY) != 0)
        surprise(s, "a write in memory of page", number, status);
    for (uint64_t i = 0; i < s->options.pages; i++)
        if ((where[i] & PGQ_TIERCACHE_IN_MEMORY) != 0 &&
            ((where[i] & PGQ_TIERCACHE_MEMORY_DIRTY) == 0 || (!s->all_failed && !(s->pages_failed >> i & 1))))
            world_violation(s->world,
                            "a write to page %llu of site %u fails, but page %llu (%u) can make room",
                            (unsigned long long)number, s->number, (unsigned long long)i, where[i]);
}

static void write_page(site *s, uint64_t number)
{
    uint64_t contents[PAGE / 8];
    uint32_t where[MOST_PAGES] = {0};
    page *p = &s->pages[number];

    if (p->last == VERSIONS - 1)
        return;
    for (uint64_t i = 0; i < s->options.pages && !s->threads; i++)
        where[i] = pgq_tiercache_where(s->cache, i);
    begin_write(p);
    fill_page(contents, s->number, number, p->last);
    faults before = begin_call(s);
    pgq_status status = pgq_tiercache_write(s->cache, number, contents);
    end_call();
    world_says(s->world, "  site %u write %llu version %u: %d", s->number, (unsigned long long)number,
               p->last, (int)status.code);
    end_write(p, status.code == PGQ_OK);
    if (!s->threads && wrote_badly(s, &before))
        s->owes_error = true;
    if (status.code == PGQ_OK) {
        const disk_file *f = &s->disk.files[STORE];

        if (f->bad_from < f->bad_to && number / 16 != f->bad_from / PAGE / 16)
            world_count(WRITES_BESIDE_BAD_BLOCK);
        if (!s->threads && (pgq_tiercache_where(s->cache, number) &
                            (PGQ_TIERCACHE_MEMORY_DIRTY | PGQ_TIERCACHE_SSD_DIRTY)) == 0)
            world_violation(s->world, "a page that was written is not dirty");
        return;
    }
    world_count(WRITE_FAILED);
    if (status.code != PGQ_TIERCACHE_WRITE_BACK || !wrote_badly(s, &before))
        surprise(s, "a write of page", number, status);
    if (!s->threads)
        check_no_room(s, where, number, status);
}

static bool is_dirty(site *s, uint64_t number)
{
    return (pgq_tiercache_where(s->cache, number) & (PGQ_TIERCACHE_MEMORY_DIRTY | PGQ_TIERCACHE_SSD_DIRTY)) !=
           0;
}

static versions dirty_pages(site *s)
{
    versions dirty = 0;

    for (uint64_t i = 0; i < s->options.pages; i++)
        dirty |= (versions)is_dirty(s, i) << i;
    return dirty;
}

/* A write-back of n pages has failed: of those that were dirty only what could not be written or read is so still, and is known. */
static void check_failed(site *s, uint64_t from, uint64_t n, versions were_dirty)
{
    for (uint64_t i = from; i < from + n; i++) {
        uint64_t found = UINT64_MAX;
        pgq_tiercache_failure why = pgq_tiercache_failed(s->cache, i, &found);
        bool dirty = is_dirty(s, i), alone = s->all_failed || (s->pages_failed >> i & 1) != 0;

        if ((why != PGQ_TIERCACHE_FAILED_NONE && found == i) != dirty)
            world_violation(s->world, "page %llu is dirty: %d; the first failed one from it on is %llu",
                            (unsigned long long)i, dirty, (unsigned long long)found);
        if (dirty && why == PGQ_TIERCACHE_FAILED_STUCK && !alone)
            world_violation(s->world, "page %llu is dirty, though the store takes it", (unsigned long long)i);
        if (dirty && why == PGQ_TIERCACHE_FAILED_LOST &&
            (s->failed.ssd == s->at_open.ssd ||
             (pgq_tiercache_where(s->cache, i) & PGQ_TIERCACHE_SSD_DIRTY) == 0))
            world_violation(s->world, "page %llu is lost, though the SSD is sound", (unsigned long long)i);
        if (!dirty && (were_dirty >> i & 1) && (s->pages_failed >> i / 16 * 16 & 0xffff) != 0)
            world_count(WRITTEN_BESIDE_FAILED);
    }
}

static void write_back(site *s, uint64_t block)
{
    versions were_dirty = dirty_pages(s);
    faults before = begin_call(s);
    pgq_status status = pgq_tiercache_write_back(s->cache, block);
    end_call();

    world_says(s->world, "  site %u write back %llu: %d", s->number, (unsigned long long)block,
               (int)status.code);
    if (status.code == PGQ_OK) {
        for (uint64_t i = block * 16; i < block * 16 + 16 && !s->threads; i++)
            if (is_dirty(s, i))
                world_violation(s->world, "page %llu is dirty after a write-back", (unsigned long long)i);
        return;
    }
    world_count(WRITE_BACK_FAILED);
    if (!s->threads)
        check_failed(s, block * 16, 16, were_dirty);
    s->owes_error = !s->threads;
    if (status.code != PGQ_TIERCACHE_WRITE_BACK ||
        (!wrote_badly(s, &before) && s->failed.ssd == s->at_open.ssd))
        surprise(s, "a write-back of block", block, status);
}

static void sync_all(site *s)
{
    page then[MOST_PAGES];
    versions were_dirty = dirty_pages(s);
    faults from = s->threads ? s->at_open : s->at_fsync;

    memcpy(then, s->pages, sizeof then);
    s->at_fsync = begin_call(s);
    pgq_status status = pgq_tiercache_fsync(s->cache);
    end_call();
    world_says(s->world, "  site %u fsync: %d", s->number, (int)status.code);
    bool owed = s->owes_error;
    s->owes_error = false;
    if (status.code != PGQ_OK) {
        world_count(FSYNC_FAILED);
        if (!s->threads)
            check_failed(s, 0, s->options.pages, were_dirty);
        if (status.code != PGQ_TIERCACHE_WRITE_BACK ||
            (!wrote_badly(s, &from) && s->failed.ssd == s->at_open.ssd))
            surprise(s, "an fsync", 0, status);
        return;
    }
    world_count(FSYNC_DONE);
    s->fsyncs += were_dirty != 0;
    if (owed && !s->threads)
        world_violation(s->world, "an fsync succeeds, though a write-back has failed since the one before");
    for (uint64_t i = 0; i < s->options.pages; i++) {
        is_durable(&s->pages[i], &then[i], s->mount);
        if (!s->threads && is_dirty(s, i))
            world_violation(s->world, "page %llu is dirty after an fsync", (unsigned long long)i);
    }
}

enum {
    ALL_STEPS = 1000, /* of a cleaner: as many as it takes */
    CLEANS = 1        /* of the four parts of the seeds, that with a cleaner */
};

static uint32_t pages_in_memory(const site *s)
{
    uint32_t held = 0;

    for (uint64_t i = 0; i < s->options.pages; i++)
        held += (pgq_tiercache_where(s->cache, i) & PGQ_TIERCACHE_IN_MEMORY) != 0;
    return held;
}

/* All that is to leave has left, or the steps were used up; a frame is free, or no page can leave: all are dirty. */
static void check_cleaned(const site *s, uint32_t held_before, uint32_t frames, uint32_t steps,
                          uint32_t pages_left, pgq_code code)
{
    uint32_t held = pages_in_memory(s);
    bool is_full = held == s->options.frames;

    if (held_before - held > steps)
        world_violation(s->world, "a cleaner of site %u has taken out %u pages by %u steps", s->number,
                        held_before - held, steps);
    if (pages_left > held || (pages_left > 0 && (steps == ALL_STEPS || code != PGQ_OK)))
        world_violation(s->world, "a cleaner of site %u says that %u pages are to leave, of %u in memory",
                        s->number, pages_left, held);
    if (code == PGQ_OK && steps == ALL_STEPS && frames > 0 && is_full)
        world_violation(s->world, "a cleaner of site %u was to keep %u frames free, and none is", s->number,
                        frames);
    if (code != PGQ_OK && (has_room(s) || !is_full))
        world_violation(s->world,
                        "a cleaner of site %u fails, though a clean page can leave, or a frame is free",
                        s->number);
}

static void clean(site *s, uint32_t frames, uint32_t steps)
{
    uint32_t pages_left = UINT32_MAX, held = s->threads ? 0 : pages_in_memory(s);
    faults before = begin_call(s);
    pgq_status status = pgq_tiercache_clean(s->cache, frames, steps, &pages_left);
    end_call();

    world_says(s->world, "  site %u clean %u by %u steps: %d, %u are to leave", s->number, frames, steps,
               (int)status.code, pages_left);
    if (status.code == PGQ_OK) {
        world_count(s->threads ? CLEANED_BESIDE : CLEANED);
    } else {
        world_count(CLEAN_FAILED);
        if (status.code != PGQ_TIERCACHE_WRITE_BACK ||
            (!wrote_badly(s, &s->at_open) && s->failed.ssd == s->at_open.ssd))
            surprise(s, "a cleaner of frames", frames, status);
    }
    if (s->threads)
        return;
    s->owes_error |= wrote_badly(s, &before);
    check_cleaned(s, held, frames, steps, pages_left, status.code);
}

/*
 * In a quarter of the seeds somebody cleans now and then. It is not drawn from the world: what else a seed does stays the same, and
 * so do all other seeds.
 */
static void comes_to_clean(site *s)
{
    const world *w = s->world;

    if ((w->seed * UINT64_C(0xd1b54a32d192ed03) >> 62) != CLEANS)
        return;
    s->cleans = (s->cleans + w->seed) * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t drawn = (uint32_t)(s->cleans >> 40);
    if (drawn % 3 == 0)
        clean(s, drawn / 4 % (s->options.frames / 2 + 1),
              drawn >> 16 & 1 ? ALL_STEPS : 1 + (drawn >> 17) % 8);
}

/* Nothing is outside of the cache's pages. */
static void check_refusals(site *s)
{
    uint64_t contents[PAGE / 8] = {0};
    pgq_status read = pgq_tiercache_read(s->cache, s->options.pages, contents);
    pgq_status wrote = pgq_tiercache_write(s->cache, s->options.pages, contents);
    pgq_status back = pgq_tiercache_write_back(s->cache, s->options.pages / 16);
    pgq_status null = pgq_tiercache_read(s->cache, 0, NULL);
    uint32_t untouched = 77;
    pgq_status most = pgq_tiercache_clean(s->cache, s->options.frames / 2 + 1, 1, &untouched);

    if (most.code != PGQ_TIERCACHE_OPTIONS || untouched != 77 ||
        pgq_tiercache_clean(s->cache, 1, 1, NULL).code != PGQ_NULL)
        world_violation(s->world, "code %d, output %u for a cleaner of more than half of the frames",
                        (int)most.code, untouched);
    if (read.code != PGQ_TIERCACHE_PAGE || wrote.code != PGQ_TIERCACHE_PAGE ||
        back.code != PGQ_TIERCACHE_PAGE || null.code != PGQ_NULL)
        world_violation(s->world, "codes %d %d %d %d for what does not exist", (int)read.code,
                        (int)wrote.code, (int)back.code, (int)null.code);
}

#endif
