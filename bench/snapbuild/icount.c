/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for snapbuild: one purge of an unsorted array, or one compression of KnownAssignedXids, of N XIDs of which
 * KEEP percent stay, scattered. SHAPE: purge|known_assigned N KEEP.
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 100000, XMIN = 1000000000 };

SUBJECT_KIND(snapbuild_purge)
SUBJECT_KIND(snapbuild_known_assigned)

static pgq_snapbuild_purge_fn purge;
static pgq_snapbuild_known_assigned_fn compress;
static size_t n;
static unsigned keep;
static uint32_t xids[LONGEST];
static bool valid[LONGEST];

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 3)
        return false;
    purge = strcmp(shape[0], "purge") == 0 ? subject_find_snapbuild_purge(variant) : NULL;
    compress =
        strcmp(shape[0], "known_assigned") == 0 ? subject_find_snapbuild_known_assigned(variant) : NULL;
    n = strtoul(shape[1], NULL, 10);
    keep = (unsigned)strtoul(shape[2], NULL, 10);
    return (purge != NULL || compress != NULL) && n <= LONGEST;
}

bool subject_warm_up(void)
{
    subject_next();
    return counted_call();
}

void subject_next(void)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t distance = (uint32_t)subject_random() % (1 << 20);

        valid[i] = subject_random() % 100 < keep;
        if (purge != NULL)
            xids[i] = valid[i] ? XMIN + distance : XMIN - 1 - distance;
        else
            xids[i] = 3 + (uint32_t)i;
    }
}

__attribute__((noinline)) bool counted_call(void)
{
    pgq_snapbuild_committed committed = {xids, n, n, false};
    bool good = purge != NULL ? purge(&committed, XMIN).code == PGQ_OK : compress(xids, valid, 0, n) <= n;

    __asm__ volatile("" ::: "memory");
    return good;
}
