/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for snapbuild, among N XIDs. SHAPE:
 *   purge N KEEP            one purge of an unsorted array, of which KEEP percent stay, scattered
 *   known_assigned N KEEP   one compression of KnownAssignedXids, of which KEEP percent stay, scattered
 *   search N KEEP           a look-up in KnownAssignedXids, of which KEEP percent are still running
 *   insert N LATE           a commit of one XID that precedes LATE of those in the sorted array
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 100000, XMIN = 1000000000 };

SUBJECT_KIND(snapbuild_purge)
SUBJECT_KIND(snapbuild_known_assigned)
SUBJECT_KIND(snapbuild_insert)

/* What is counted: the function that is set, or a look-up if none is. */
static pgq_snapbuild_purge_fn purge;
static pgq_snapbuild_known_assigned_fn compress;
static pgq_snapbuild_insert_fn insert;
static size_t n, number;
static uint32_t xids[LONGEST], sought;
static bool valid[LONGEST];

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 3)
        return false;
    n = strtoul(shape[1], NULL, 10);
    number = strtoul(shape[2], NULL, 10);
    if (n == 0 || n >= LONGEST)
        return false;
    if (strcmp(shape[0], "purge") == 0)
        return (purge = subject_find_snapbuild_purge(variant)) != NULL;
    if (strcmp(shape[0], "known_assigned") == 0)
        return (compress = subject_find_snapbuild_known_assigned(variant)) != NULL;
    if (strcmp(shape[0], "insert") == 0)
        return number <= n && (insert = subject_find_snapbuild_insert(variant)) != NULL;
    return strcmp(shape[0], "search") == 0;
}

static bool search(void)
{
    const pgq_snapbuild_known_assigned known = {
        .xids = xids, .valid = valid, .capacity = n, .head = n, .num = n};

    return pgq_snapbuild_known_assigned_search(&known, sought) == valid[(sought - 3) / 2];
}

static bool run(void)
{
    pgq_snapbuild_committed committed = {xids, n, LONGEST, true};

    if (purge != NULL)
        return purge(&committed, XMIN).code == PGQ_OK;
    if (compress != NULL)
        return compress(xids, valid, 0, n) <= n;
    if (insert != NULL)
        return insert(&committed, &sought, 1, true).code == PGQ_OK;
    return search();
}

bool subject_warm_up(void)
{
    subject_next();
    return run();
}

void subject_next(void)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t distance = (uint32_t)subject_random() % (1 << 20);

        valid[i] = subject_random() % 100 < number;
        if (purge != NULL)
            xids[i] = valid[i] ? XMIN + distance : XMIN - 1 - distance;
        else
            xids[i] = 3 + 2 * (uint32_t)i;
    }
    sought = insert != NULL ? 2 + 2 * (uint32_t)(n - number) : xids[subject_random() % n];
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
