/* SPDX-License-Identifier: PostgreSQL */
/*
 * The world of tiercache: two stores of one shape, each a machine of its own (world_site.h). The oracle has a history of each
 * page (world_oracle.h). It asks in both directions: what is promised is there, and a call fails only if an operation has
 * failed that allows it (world_calls.h, world_open.h). Between two opens the files change (world_changes.h).
 */
#include "../tests/tiercache/world_changes.h"
#include "../tests/world/system.h"

#include <stdlib.h>

const char *const world_counts[] = {COUNTS(WORLD_TEXT), NULL};
const unsigned world_steps = 9;
const bool world_tries_all_lines = true;

enum { SITES = 2 };

typedef struct row {
    site sites[SITES];
} row;

/* ---- stops ---- */

static void start_machine(site *s, world *w)
{
    bool power = w->rate[WORLD_KILL] == 0 || (w->rate[WORLD_POWER_LOSS] != 0 && world_one_in(w, 2));

    if (s->next != ANY_STOP)
        power = s->next == A_POWER_LOSS;
    s->next = ANY_STOP;

    s->torn |= power && s->disk.stopped;
    world_count(power ? POWER_LOSSES : KILLS);
    world_says(w, "  site %u: a %s", s->number, power ? "power loss" : "kill");
    if (power)
        memset(s->stays, 0, sizeof s->stays);
    disk_start(&s->disk, !power);
}

static void close_site(site *s)
{
    calls = NULL; /* an operation is a violation */
    pgq_tiercache_close(s->cache);
    s->cache = NULL;
}

static void mend(site *s)
{
    for (int f = 0; f < FILES; f++)
        disk_make_bad(&s->disk, f, 0, 0);
}

static void reopen(site *s, site *other, world *w)
{
    unsigned tries = (unsigned)world_below(w, 4);

    for (bool done = false; !done; tries -= tries > 0) {
        s->disk.quiet = tries == 0;
        if (tries == 0)
            mend(s);
        if (world_one_in(w, 8))
            choose_options(s, w);
        change_files(s, other, w);
        if (tries > 0 && world_one_in(w, 2))
            disk_stop_after(&s->disk, 1 + world_below(w, world_one_in(w, 4) ? 100 : 20));
        if (s->hides && s->options.slots > 0)
            disk_fail_after(&s->disk, SSD, DISK_READ, 2 + world_below(w, s->options.slots));
        else if (tries > 0 && world_one_in(w, 2))
            aim(s);
        s->hides = false;
        done = open_site(s, RIGHT);
        if (w->violated)
            break;
        if (s->disk.stopped) {
            world_count(STOPS_IN_OPEN);
            if (done)
                close_site(s);
            done = false;
            start_machine(s, w);
        }
        s->disk.stops_at = s->disk.failure.in = 0;
    }
    s->disk.quiet = false;
}

static void check_all(site *s)
{
    s->disk.quiet = true;
    for (uint64_t i = 0; i < s->options.pages && !s->world->violated; i++)
        read_page(s, i);
    s->disk.quiet = false;
}

/* Pages that no page in memory is newer than. */
static void note_what_stays(site *s)
{
    for (uint64_t i = 0; i < s->options.pages; i++)
        s->stays[i] = !s->disk.stopped && s->failed.ssd == s->at_open.ssd &&
                      (pgq_tiercache_where(s->cache, i) & PGQ_TIERCACHE_MEMORY_DIRTY) == 0;
}

static void restart(site *s, site *other, world *w)
{
    note_what_stays(s);
    close_site(s);
    if (s->disk.stopped || s->next != ANY_STOP || world_one_in(w, 2))
        start_machine(s, w);
    else
        world_count(CLOSES);
    reopen(s, other, w);
}

/* ---- what one thread does ---- */

/* Most of memory comes from the SSD, is written, and in part evicted again: some pages have an old slot beside a new one. */
static void rewrite(site *s, world *w)
{
    uint64_t pages = s->options.pages, from = world_below(w, pages), n = 9 + world_below(w, 7);

    for (uint64_t i = 0; i < n; i++)
        read_page(s, (from + i) % pages);
    for (uint64_t i = 0; i < n; i++)
        write_page(s, (from + i) % pages);
    for (uint64_t i = s->options.frames - n + world_below(w, n); i > 0; i--)
        read_page(s, (from + n + i) % pages);
}

/* Fills memory and SSD. */
static void use_all(site *s, world *w)
{
    for (uint64_t n = s->options.pages + world_below(w, s->options.pages); n > 0 && !s->disk.stopped; n--) {
        uint64_t p = world_below(w, s->options.pages);

        if (world_one_in(w, 2))
            write_page(s, p);
        else
            read_page(s, p);
    }
}

static void do_something(site *s, world *w)
{
    uint64_t pages = s->options.pages;

    switch (world_below(w, 8)) {
    case 0:
        if (world_one_in(w, 2))
            sync_all(s);
        else
            write_back(s, world_below(w, pages / 16));
        break;
    case 1:
    case 2:
        read_page(s, world_below(w, pages));
        break;
    case 3:
        for (uint64_t p = world_below(w, pages), n = 2 + world_below(w, 20); n > 0 && p < pages; n--, p++)
            read_page(s, p);
        break;
    case 4:
        for (uint64_t p = world_below(w, pages), n = 2 + world_below(w, 20); n > 0 && p < pages; n--, p++)
            write_page(s, p);
        break;
    case 5:
        rewrite(s, w);
        break;
    default:
        write_page(s, world_below(w, pages));
    }
    comes_to_clean(s);
}

/* What may come back later, or be lost: a slot that an open cannot read, or that a sync of the SSD has failed to take off; a page
   that a sync of the store has failed to make durable, before another block was written. */
static void doubt(site *s, site *other, world *w)
{
    uint64_t pages = s->options.pages, p = world_below(w, pages);

    for (uint64_t n = 0; n < pages && (pgq_tiercache_where(s->cache, p) & PGQ_TIERCACHE_ON_SSD) == 0; n++)
        p = (p + 1) % pages;
    if (w->rate[WORLD_SYNC_FAILS] != 0 && world_one_in(w, 2)) {
        bool store = world_one_in(w, 2);

        write_page(s, p);
        disk_fail_after(&s->disk, store ? STORE : SSD, DISK_SYNC, 1);
        write_back(s, p / 16);
        if (store) {
            write_page(s, (p + 16) % pages);
            write_back(s, (p + 16) % pages / 16);
        }
    } else {
        s->hides = w->rate[WORLD_READ_FAILS] != 0;
    }
    s->next = world_one_in(w, 2) ? A_KILL : ANY_STOP;
    restart(s, other, w);
    if (w->violated)
        return;
    read_page(s, p);
    if (world_one_in(w, 2))
        write_page(s, p);
    sync_all(s);
    s->next = world_one_in(w, 2) ? A_POWER_LOSS : ANY_STOP;
    restart(s, other, w);
    if (!w->violated)
        read_page(s, p);
}

/* Lives that are short: what an open has left, and what is written and synced then, is there after the next stop. Only a few
   pages are used, so that what is free on the SSD stays as it is. */
static void restart_often(site *s, site *other, world *w)
{
    do {
        if (!s->disk.stopped && world_one_in(w, 3))
            use_all(s, w);
        if (!s->disk.stopped && world_one_in(w, 2))
            rewrite(s, w);
        restart(s, other, w);
        for (uint64_t p = world_below(w, s->options.pages), n = world_below(w, 16); n > 0 && !w->violated;
             n--)
            read_page(s, (p + n) % s->options.pages);
        if (!w->violated && world_one_in(w, 2))
            sync_all(s);
        if (world_one_in(w, 2))
            for (uint64_t n = world_below(w, 16); n > 0 && !w->violated; n--)
                write_page(s, world_below(w, s->options.pages));
        if (!w->violated && world_one_in(w, 2))
            sync_all(s);
    } while (!w->violated && world_one_in(w, 2));
}

/* ---- threads: each writes the pages that are its own, and reads all ---- */

typedef struct task {
    site *site;
    uint64_t range; /* of pages */
    unsigned threads, calls;
    bool scans; /* often */
} task;

static void run_task(void *argument, unsigned number)
{
    const task *t = argument;
    site *s = t->site;
    world *w = s->world;

    for (unsigned i = 0; i < t->calls && !w->violated; i++) {
        uint64_t p = world_below(w, t->range);

        switch (world_below(w, t->scans ? 14 : 8)) {
        case 0:
            sync_all(s);
            break;
        case 1:
            write_back(s, p / 16);
            break;
        case 2:
        case 3:
        case 4:
            read_page(s, p);
            break;
        case 5:
        case 6:
        case 7:
            if (world_one_in(w, 2) && s->read_last % t->threads == number)
                p = s->read_last; /* another thread may be reading it */
            write_page(s, p - p % t->threads + number);
            break;
        default: /* what is in memory leaves it */
            for (uint64_t n = s->options.frames; n > 0; n--)
                read_page(s, (p + n) % s->options.pages);
        }
        comes_to_clean(s);
    }
}

static void run_threads(site *s, world *w)
{
    task t = {.site = s, .threads = (unsigned)(world_one_in(w, 2) ? 2 : 4)};

    t.range = world_one_in(w, 3) ? s->options.pages : t.threads * (1 + world_below(w, 2));
    t.calls = world_one_in(w, 4) ? 20 : 6;
    t.scans = world_one_in(w, 2);
    world_count(THREADS);
    s->threads = true;
    world_run_threads(w, t.threads, run_task, &t);
    s->threads = false;
    s->owes_error = false;
    s->at_fsync = s->at_open;
    if (s->disk.stopped)
        world_count(STOPS_WITH_THREADS);
}

/* ---- a run ---- */

static void make_site(site *s, world *w, unsigned number, uint64_t pages, uint32_t slots, uint32_t sector)
{
    uint32_t unit = units_of(w) < SMALL_UNIT ? SECTOR : MOST_UNIT;
    uint64_t capacities[FILES] = {(pages + OWN) * PAGE, 4096 + MOST_SLOTS * (unit + PAGE), 4096};

    s->world = w;
    s->number = number;
    choose_options(s, w);
    s->options.pages = pages;
    s->options.slots = slots;
    disk_make(&s->disk, w, sector, FILES, capacities);
    s->disk.keeps_seen = true;
    s->disk.short_unit = SECTOR; /* the header: a short write moves a multiple of 512 */
    s->finds = -1;
    for (uint64_t i = 0; i < MOST_PAGES; i++)
        is_new(&s->pages[i]);
}

static void free_site(site *s)
{
    if (s->cache != NULL)
        close_site(s);
    disk_free(&s->disk);
    for (unsigned c = 0; c < COPIES; c++)
        disk_free_copy(&s->copies[c].bytes);
    disk_free_copy(&s->store_copy);
}

void *world_begin(world *w)
{
    row *r = calloc(1, sizeof *r);
    uint64_t pages = world_one_in(w, 8) ? FEWEST_PAGES : MOST_PAGES;
    uint32_t slots =
        world_one_in(w, 8) ? 0 : 1 + (uint32_t)world_below(w, world_one_in(w, 4) ? 3 : MOST_SLOTS);
    uint32_t sector = world_one_in(w, 2) ? 512 : 4096;

    if (r == NULL)
        abort();
    world_says(w, "pages %u, slots %u, sectors of %u", (unsigned)pages, slots, sector);
    for (unsigned i = 0; i < SITES; i++)
        make_site(&r->sites[i], w, i, pages, slots, sector);
    for (unsigned i = 0; i < SITES; i++)
        reopen(&r->sites[i], &r->sites[1 - i], w);
    return r;
}

static void make_bad(site *s, world *w)
{
    int file = (int)world_below(w, FILES);
    uint64_t most = file == STORE ? w->seed % 2 * 15 + 1 : world_one_in(w, 2) ? 1 : 8, size = most * PAGE;
    uint64_t from = world_below(w, s->disk.files[file].capacity / size + 1) * size;

    world_says(w, "  site %u: file %d is bad at %llu", s->number, file, (unsigned long long)from);
    disk_make_bad(&s->disk, file, from, from + size);
}

void world_step(void *argument, world *w, unsigned step)
{
    row *r = argument;
    unsigned number = world_one_in(w, 5);
    site *s = &r->sites[number], *other = &r->sites[1 - number];

    (void)step;
    if (world_comes(w, WORLD_POWER_LOSS) || world_comes(w, WORLD_KILL))
        disk_stop_after(&s->disk, 1 + world_below(w, world_one_in(w, 2) ? 10 : 100));
    if (world_comes(w, WORLD_BAD_RANGE))
        make_bad(s, w);
    else if (world_one_in(w, 4))
        mend(s);
    if (s->options.slots > 0 && world_one_in(w, 5))
        take_ssd(s);
    if (world_one_in(w, 4))
        aim(s);
    check_refusals(s);
    if (world_one_in(w, 6))
        run_threads(s, w);
    else
        for (uint64_t n = 1 + world_below(w, 4); n > 0 && !s->disk.stopped && !w->violated; n--)
            do_something(s, w);
    for (uint64_t i = 0; i < s->options.pages; i++)
        if ((pgq_tiercache_where(s->cache, i) & 15) == (PGQ_TIERCACHE_ON_SSD | PGQ_TIERCACHE_SSD_DIRTY))
            world_count(EVICTED_DIRTY);
    if (!w->violated && (s->disk.stopped || world_one_in(w, 4)))
        (world_one_in(w, 3) ? doubt : restart_often)(s, other, w);
    if (!w->violated && world_one_in(w, 4))
        check_all(s);
}

/* Opens a cache that nothing is refused but memory. */
static pgq_code open_and_close(void *argument)
{
    site *s = argument;
    pgq_tiercache_files files = {s, site_read, site_write, site_sync, site_random};

    begin_call(s);
    pgq_status status = pgq_tiercache_open(&files, &s->options, &s->cache);
    end_call();
    if (status.code == PGQ_OK)
        close_site(s);
    return status.code;
}

/* An open for which there is no memory, in a machine in which nothing else fails. */
static void refuse_memory(site *s, world *w)
{
    close_site(s);
    s->disk.quiet = true;
    mend(s);
    for (unsigned n = system_refuse_each(w, open_and_close, s); n > 0; n--)
        world_count(REFUSED_MEMORY);
}

void world_end(void *argument, world *w)
{
    row *r = argument;

    for (unsigned i = 0, n = world_one_in(w, 4) ? SITES : 1; i < n && !w->violated; i++) {
        disk_stop(&r->sites[i].disk);
        restart(&r->sites[i], &r->sites[1 - i], w);
        if (!w->violated)
            check_all(&r->sites[i]);
    }
    if (!w->violated)
        refuse_memory(&r->sites[0], w);
    for (unsigned i = 0; i < SITES; i++)
        free_site(&r->sites[i]);
    free(r);
}
