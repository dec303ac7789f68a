/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for datfrozenxid: the oldest of N values, of which INVALID percent are 0, or the whole scan of N rows of
 * pg_class, STRIDE bytes each, of which 5 in 8 hold ids. SHAPE: min_frozen N INVALID, or min_frozen_strided N STRIDE.
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 16384, WIDEST = 256, RELKIND_AT = 115, RELFROZENXID_AT = 120, OLDEST = 200000000 };
#define LAST_SANE 3000000000u

SUBJECT_KIND(datfrozenxid_min_frozen)
SUBJECT_KIND(datfrozenxid_min_frozen_strided)

static pgq_datfrozenxid_min_frozen_fn min_frozen;
static pgq_datfrozenxid_min_frozen_strided_fn strided;
static size_t n, number;
static uint32_t values[LONGEST];
static unsigned char records[LONGEST * WIDEST];

bool subject_choose(const char *variant, int words, char **shape)
{
    if (words != 3)
        return false;
    n = strtoul(shape[1], NULL, 10);
    number = strtoul(shape[2], NULL, 10);
    if (strcmp(shape[0], "min_frozen") == 0)
        min_frozen = subject_find_datfrozenxid_min_frozen(variant);
    else if (strcmp(shape[0], "min_frozen_strided") == 0 && number > RELFROZENXID_AT + 8 && number <= WIDEST)
        strided = subject_find_datfrozenxid_min_frozen_strided(variant);
    return (min_frozen != NULL || strided != NULL) && n <= LONGEST;
}

static bool run(void)
{
    const pgq_datfrozenxid_bounds bounds = {LAST_SANE - 1, LAST_SANE, false};
    const pgq_datfrozenxid_pair start = {LAST_SANE - 1, LAST_SANE - 1}, last_sane = {LAST_SANE, LAST_SANE};
    const pgq_datfrozenxid_rows rows = {records, n, number, RELKIND_AT, RELFROZENXID_AT};
    pgq_datfrozenxid_pair pair;
    uint32_t minimum;
    pgq_status status = min_frozen != NULL ? min_frozen(values, n, &bounds, &minimum)
                                           : strided(&rows, &start, &last_sane, &pair);

    return status.code == PGQ_OK;
}

bool subject_warm_up(void)
{
    subject_next();
    return run();
}

static uint32_t value(void)
{
    return LAST_SANE - 1 - (uint32_t)(subject_random() % OLDEST);
}

void subject_next(void)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char *record = records + i * number;
        char kind = "rrrrtttmiiiiiivS"[subject_random() % 16];
        bool holds = strchr("rtm", kind) != NULL;
        uint32_t ids[2] = {holds ? value() : 0, holds ? value() : 0};

        if (min_frozen != NULL) {
            values[i] = subject_random() % 100 < number ? 0 : value();
            continue;
        }
        record[RELKIND_AT] = (unsigned char)kind;
        memcpy(record + RELFROZENXID_AT, ids, sizeof ids);
    }
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
