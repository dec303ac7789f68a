/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for rangelock. SHAPE:
 *   held N      lock and unlock of a page among N other pages, held exclusively and taken in random order
 *   waiting N   unlock and lock of a page for which one of N requests waits, each for a page of its own
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16384, PAGE = 8192 };

SUBJECT_KIND(rangelock)

static pgq_rangelock *lock;
static pgq_rangelock_hold hold, holds[MOST], waiting[MOST];
static bool waits;
static size_t n, at;

static bool ask(pgq_rangelock_hold *asked, size_t page, bool *granted)
{
    return pgq_rangelock_request(lock, asked, (uint64_t)page * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE, granted)
               .code == PGQ_OK;
}

bool subject_choose(const char *variant, int words, char **shape)
{
    pgq_rangelock_fn make = subject_find_rangelock(variant);

    if (words != 2 || make == NULL)
        return false;
    waits = strcmp(shape[0], "waiting") == 0;
    n = strtoul(shape[1], NULL, 10);
    return n >= 1 && n <= MOST && (waits || strcmp(shape[0], "held") == 0) && make(-1, &lock).code == PGQ_OK;
}

/* The page goes to who waits for it, and who had it waits now. */
static bool pass_on(void)
{
    bool first = pgq_rangelock_is_held(lock, &holds[at]), granted = true;
    pgq_rangelock_hold *has = first ? &holds[at] : &waiting[at];

    return pgq_rangelock_unlock(lock, has).code == PGQ_OK && ask(has, 2 * at, &granted) && !granted;
}

/* Those that are held have even numbers. */
static bool lock_and_unlock(void)
{
    bool granted;

    return ask(&hold, 2 * at + 1, &granted) && granted && pgq_rangelock_unlock(lock, &hold).code == PGQ_OK;
}

static bool run(void)
{
    return waits ? pass_on() : lock_and_unlock();
}

bool subject_warm_up(void)
{
    static size_t order[MOST];
    bool granted, good = true;

    for (size_t i = 0; i < n; i++) {
        size_t j = subject_random() % (i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < n; i++)
        good &= ask(&holds[order[i]], 2 * order[i], &granted) && granted;
    for (size_t i = 0; waits && i < n; i++)
        good &= ask(&waiting[order[i]], 2 * order[i], &granted) && !granted;
    subject_next();
    return good && run();
}

void subject_next(void)
{
    at = subject_random() % n;
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
