/* SPDX-License-Identifier: PostgreSQL */
/*
 * What a page of the world of tiercache may hold: for each of its sectors two sets of versions. `now` is what a read may give,
 * `crash` what an open may find after a crash. A version is the number of the write that wrote it; 0 is a sector of zeros.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_WORLD_ORACLE_H
#define PGQUERN_TESTS_TIERCACHE_WORLD_ORACLE_H

#include "../tests/world/world.h"
#include "tiercache/tiercache.h"

#include <string.h>

enum {
    PAGE = PGQ_TIERCACHE_PAGE_SIZE,
    SECTOR = 512,
    SECTORS = PAGE / SECTOR,
    WORDS = SECTOR / 8,
    VERSIONS = 64
};

typedef uint64_t versions; /* a set: bit v is version v */

typedef struct page {
    versions now[SECTORS], crash[SECTORS];
    versions pending; /* writes that have begun and not returned */
    unsigned last;    /* the last write that has begun */
    bool written;     /* since the last fsync that covered it */
    unsigned mount;   /* of that fsync */
} page;

static const versions ZERO = 1;

static uint64_t word_of(unsigned site, uint64_t number, unsigned version, unsigned sector)
{
    return UINT64_C(0x7165) << 48 | (uint64_t)site << 40 | number << 16 | version << 8 | sector;
}

static void fill_page(uint64_t contents[], unsigned site, uint64_t number, unsigned version)
{
    for (unsigned s = 0; s < SECTORS; s++)
        for (unsigned i = 0; i < WORDS; i++)
            contents[s * WORDS + i] = word_of(site, number, version, s);
}

/* The versions of a page's sectors. false: a sector that no write of this page has written. */
static bool versions_of(const uint64_t contents[], unsigned site, uint64_t number, unsigned found[])
{
    for (unsigned s = 0; s < SECTORS; s++) {
        uint64_t word = contents[s * WORDS];

        found[s] = word == 0 ? 0 : (unsigned)(word >> 8 & 0xff);
        if (found[s] >= VERSIONS || (word != 0 && word != word_of(site, number, found[s], s)))
            return false;
        for (unsigned i = 1; i < WORDS; i++)
            if (contents[s * WORDS + i] != word)
                return false;
    }
    return true;
}

/* The writes that have begun since `then`, and those that had not returned then. */
static versions begun_since(const page *p, const page *then)
{
    versions set = then->pending;

    for (unsigned v = then->last + 1; v <= p->last; v++)
        set |= UINT64_C(1) << v;
    return set;
}

/* What was read must be what the page held when the read began, or one whole write that has begun by its end. */
static bool may_read(const page *p, const page *then, const unsigned found[])
{
    versions new = begun_since(p, then);
    bool is_new = new >> found[0] & 1;

    for (unsigned s = 0; s < SECTORS; s++)
        if (is_new ? found[s] != found[0] : !(then->now[s] >> found[s] & 1))
            return false;
    return true;
}

/* What a read has shown holds from now on, unless something else has shown more meanwhile. */
static void has_read(page *p, const page *then, const unsigned found[])
{
    if (memcmp(p->now, then->now, sizeof p->now) == 0)
        for (unsigned s = 0; s < SECTORS; s++)
            p->now[s] = UINT64_C(1) << found[s];
}

static void begin_write(page *p)
{
    versions bit = UINT64_C(1) << ++p->last;

    p->pending |= bit;
    p->written = true;
    for (unsigned s = 0; s < SECTORS; s++)
        p->crash[s] |= bit;
}

static void end_write(page *p, bool done)
{
    versions bit = UINT64_C(1) << p->last;

    p->pending &= ~bit;
    for (unsigned s = 0; s < SECTORS; s++)
        if (done)
            p->now[s] = bit;
        else
            p->crash[s] &= ~bit;
}

/* An fsync that began `then` has succeeded: what was older than the contents of that moment must not come back. */
static void is_durable(page *p, const page *then, unsigned mount)
{
    versions new = begun_since(p, then);

    for (unsigned s = 0; s < SECTORS; s++)
        p->crash[s] &= then->now[s] | new;
    if (new == 0) {
        p->written = false;
        p->mount = mount;
    }
}

static void has_crashed(page *p)
{
    memcpy(p->now, p->crash, sizeof p->now);
    p->pending = 0;
}

static void is_new(page *p)
{
    for (unsigned s = 0; s < SECTORS; s++)
        p->now[s] = p->crash[s] = ZERO;
    p->written = false;
}

#endif
