/* SPDX-License-Identifier: PostgreSQL */
/*
 * What happens to the three files of a store between two opens: an SSD comes back older, as another store's, or damaged; a
 * wrong store or control file is refused; a store begins anew. The options change, too.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_WORLD_CHANGES_H
#define PGQUERN_TESTS_TIERCACHE_WORLD_CHANGES_H

#include "../tests/tiercache/world_open.h"

static void put_old_ssd(site *s, world *w)
{
    const old_copy *old = &s->copies[world_below(w, COPIES)];

    if (old->bytes.bytes == NULL)
        return;
    if (old->mount == s->mount && s->torn && old->fsyncs + 2 > s->fsyncs)
        return; /* the header does not promise this */
    if (old->mount == s->mount)
        world_count(SAME_MOUNT_COPY);
    world_says(w, "  site %u: an SSD of mount %u, fsync %u", s->number, old->mount, old->fsyncs);
    disk_put_copy(&s->disk, SSD, &old->bytes);
    s->ssd_changed = true;
    s->finds = -1;
}

static void take_ssd(site *s)
{
    old_copy *old = &s->copies[s->copies_taken % COPIES];

    if (s->world->rate[WORLD_REPLACED] == 0)
        return; /* it never comes back */
    s->copies_taken++;
    copy_file(&old->bytes, &s->disk, SSD);
    old->mount = s->mount;
    old->fsyncs = s->fsyncs;
    world_says(s->world, "  site %u: the SSD is copied, mount %u, fsync %u", s->number, s->mount, s->fsyncs);
}

static void change_ssd(site *s, site *other, world *w)
{
    disk_file *f = &s->disk.files[SSD];
    uint64_t how = world_below(w, 6);

    if (how < 3) {
        put_old_ssd(s, w);
        return;
    }
    s->ssd_changed = true;
    s->finds = -1;
    world_says(w, "  site %u: the SSD is changed, %llu", s->number, (unsigned long long)how);
    if (how == 3)
        disk_truncate(&s->disk, SSD, world_one_in(w, 2) ? 0 : world_below(w, f->cache_size + 1));
    else if (how == 4) {
        disk_zero(&s->disk, SSD);
        s->finds = PGQ_TIERCACHE_SSD_EMPTY;
    } else {
        const disk_file *theirs = &other->disk.files[SSD];

        if (other->cache != NULL && pgq_tiercache_count(other->cache).ssd_in_use &&
            other->failed.ssd == other->at_open.ssd)
            s->finds = PGQ_TIERCACHE_SSD_FOREIGN;
        disk_put_copy(&s->disk, SSD, &(disk_copy){theirs->cache, theirs->cache_size});
    }
}

/* A store or control file that is not the right one is refused; then the right one comes back. */
static void try_wrong(site *s, const site *other, world *w)
{
    int file = world_one_in(w, 2) ? STORE : CONTROL, wrong = file == STORE ? BAD_STORE : BAD_CONTROL;
    disk_file *ours = &s->disk.files[file];
    const disk_file *theirs = &other->disk.files[file];
    disk_copy right = disk_take_copy(&s->disk, file);
    uint64_t end = s->options.pages * PAGE;
    pgq_tiercache_options options = s->options;

    uint64_t how = world_below(w, 3);

    switch (how) {
    case 0:
        if (file == CONTROL && (other->mount == 0 || other->control_is_new))
            wrong = RIGHT;
        else
            disk_put_copy(&s->disk, file, &(disk_copy){theirs->cache, theirs->cache_size});
        if (file == CONTROL)
            wrong = wrong == RIGHT ? RIGHT : BAD_STORE;
        break;
    case 1:
        if (file == STORE)
            memset(ours->cache + end, world_one_in(w, 2) ? 0 : 0x5a, (uint64_t)OWN * PAGE);
        else
            ours->cache[world_below(w, 24)] ^= (uint8_t)(1 + world_below(w, 255));
        break;
    default:
        if (file == STORE)
            disk_truncate(&s->disk, STORE, world_below(w, end + 1));
        else {
            world_count(OTHER_PAGES);
            s->options.pages = FEWEST_PAGES + MOST_PAGES - s->options.pages;
        }
    }
    world_says(w, "  site %u: a wrong file %d, in manner %u", s->number, file, (unsigned)how);
    if (wrong != RIGHT && open_site(s, wrong))
        pgq_tiercache_close(s->cache);
    s->cache = NULL;
    s->options = options;
    disk_put_copy(&s->disk, file, &right);
    disk_free_copy(&right);
}

/* A store that begins anew, or is put back as it was; its control file is emptied. */
static void change_store(site *s, world *w)
{
    disk_truncate(&s->disk, CONTROL, 0);
    s->control_is_new = true;
    s->refusals = 0;
    if (world_one_in(w, 2)) {
        world_count(NEW_STORE);
        disk_truncate(&s->disk, STORE, 0);
        for (uint64_t i = 0; i < s->options.pages; i++)
            is_new(&s->pages[i]);
    } else if (s->store_copy.bytes != NULL) {
        world_count(OLD_STORE);
        disk_put_copy(&s->disk, STORE, &s->store_copy);
        for (uint64_t i = 0; i < s->options.pages; i++) {
            unsigned last = s->pages[i].last;

            s->pages[i] = s->store_pages[i];
            s->pages[i].last = last;
        }
    }
    world_says(w, "  site %u: a new control file", s->number);
}

static void take_store(site *s)
{
    if (s->world->rate[WORLD_REPLACED] == 0)
        return;
    copy_file(&s->store_copy, &s->disk, STORE);
    memcpy(s->store_pages, s->pages, sizeof s->pages);
}

/*
 * The unit of the SSD: of half of the seeds that of the default, of a quarter the other one, of a quarter now this and now that. It is
 * not drawn from the world: what else a seed does stays the same.
 */
enum { SMALL_UNIT = 2, LARGE_UNIT = 3 };

static unsigned units_of(const world *w)
{
    return (unsigned)(w->seed * UINT64_C(0x9e3779b97f4a7c15) >> 62);
}

static void choose_unit(site *s, const world *w)
{
    uint32_t before = s->options.ssd_block;
    unsigned units = units_of(w);

    s->units = (s->units + w->seed) * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    s->options.ssd_block = units < SMALL_UNIT || (units != LARGE_UNIT && s->units >> 63) ? 0 : MOST_UNIT;
    if (s->options.ssd_block == before)
        return;
    if (s->mount > 0)
        world_count(OTHER_UNIT);
    s->ssd_changed = true;
}

/* All options but the pages may be others at each open; the SSD of other slots counts as empty. */
static void choose_options(site *s, world *w)
{
#ifdef PGQUERN_JUDGED /* by pgquern judge: the last policy is on trial */
    uint64_t policy = pgq_tiercache_policy_variant_count - 1;
#else
    uint64_t policy = world_below(w, pgq_tiercache_policy_variant_count);
#endif

    s->options.frames = 16 + (uint32_t)world_below(w, world_one_in(w, 4) ? 24 : 4);
    s->options.batch = 1 + (uint32_t)world_below(w, 2);
    s->options.policy = pgq_tiercache_policy_variants[policy].name;
    if (world_one_in(w, 3)) {
        world_count(OTHER_SLOTS);
        s->options.slots = world_one_in(w, 4) ? 0 : 1 + (uint32_t)world_below(w, MOST_SLOTS);
        s->ssd_changed = true;
    }
    choose_unit(s, w);
    world_says(w, "  site %u: frames %u, slots %u of %u, batch %u, policy %s", s->number, s->options.frames,
               s->options.slots, s->options.ssd_block, s->options.batch, s->options.policy);
}

static void change_files(site *s, site *other, world *w)
{
    if (world_one_in(w, 4))
        take_ssd(s);
    if (world_one_in(w, 8))
        take_store(s);
    if (w->rate[WORLD_REPLACED] == 0)
        return;
    if (world_one_in(w, 6))
        change_ssd(s, other, w);
    if (s->mount > 0 && !s->control_is_new && world_one_in(w, 6))
        try_wrong(s, other, w);
    if (world_one_in(w, 10))
        change_store(s, w);
}

#endif
