/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: makes arrays of XIDs of any bytes and gives them to every variant of every kind on arrays of XIDs that
 * this CPU runs. Each must refuse what the contract in snapbuild.h refuses, and then leave every output as it was, or give
 * the result of the plain definitions below. Arrays have memory of exactly their size, so that AddressSanitizer sees an
 * access beyond.
 *
 * Input: byte 0 says what to do and how to read the rest; then four bytes xmin; then pairs of two bytes, each an XID by
 * its distance from xmin, or from the point half a ring away; the first half of them is the array, the rest a batch. Some
 * arrays of few are also drawn out, to what the purges take for long.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODES = 25,
    MOST = 240, /* XIDs: enough for every loop and its tail but those of long arrays, and fast */
    FEW = 4,    /* XIDs, each drawn out to a run of so many rising ones: */
    RUN = 1100,
    SORTED_RUN = 17000,

    /* bits of byte 0 */
    SORTED = 1,    /* sort the array and drop duplicates */
    CLAIM = 2,     /* say that it is sorted, true or not */
    TIGHT = 4,     /* no space for the batch */
    PERMANENT = 8, /* put a few permanent XIDs in */
    CONSISTENT = 16,
    DRAWN_OUT = 96 /* both bits: to extend every short array would take too long */
};

static unsigned long long answers[CODES];

/* How often each answer was given. The runner fails if one was never given, as in a run that passes no check. */
__attribute__((destructor)) static void print_tally(void)
{
    static const struct {
        const char *name;
        pgq_code code;
    } meant[] = {
        {"done", PGQ_OK},
        {"XID_PERMANENT", PGQ_SNAPBUILD_XID_PERMANENT},
        {"UNSORTED", PGQ_SNAPBUILD_UNSORTED},
        {"CAPACITY", PGQ_SNAPBUILD_CAPACITY},
        {"DUPLICATE", PGQ_SNAPBUILD_DUPLICATE},
    };

    fprintf(stderr, "tally:");
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        fprintf(stderr, " %s=%llu", meant[i].name, answers[meant[i].code]);
    fprintf(stderr, "\n");
}

static void require(bool holds, const char *what, const char *variant)
{
    if (!holds) {
        fprintf(stderr, "fuzz snapbuild: %s: %s\n", variant, what);
        abort();
    }
}

static bool precedes(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static size_t sort_unique(uint32_t *xids, size_t n)
{
    size_t kept = 0;

    if (n > 0)
        qsort(xids, n, sizeof *xids, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || xids[i] != xids[i - 1])
            xids[kept++] = xids[i];
    return kept;
}

/* An array of exactly `space`, of which n are given; the others are no XIDs. */
static uint32_t *exactly(const uint32_t *xids, size_t n, size_t space)
{
    uint32_t *copy = calloc(space + (space == 0), sizeof *copy);

    if (n > 0)
        memcpy(copy, xids, n * sizeof *copy);
    return copy;
}

static bool same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static void purges(const pgq_snapbuild_purge_variant *variants, size_t count, const uint32_t *xids, size_t n,
                   uint32_t xmin, bool claim, bool needs_claim)
{
    for (size_t v = 0; v < count; v++) {
        pgq_snapbuild_committed committed = {exactly(xids, n, n), n, n, claim};
        pgq_status status;
        size_t kept = 0;

        if (!variants[v].supported()) {
            free(committed.xip);
            continue;
        }
        status = variants[v].fn(&committed, xmin);
        answers[status.code]++;
        require(committed.xcnt_space == n && committed.sorted == claim, "a purge changed the rest",
                variants[v].name);
        if (needs_claim && !claim)
            require(status.code == PGQ_SNAPBUILD_UNSORTED && committed.xcnt == n &&
                        same(committed.xip, xids, n * sizeof *xids),
                    "purged without the claim", variants[v].name);
        else {
            require(status.code == PGQ_OK, "refused", variants[v].name);
            for (size_t i = 0; i < n; i++)
                if (xmin < 3 || !precedes(xids[i], xmin))
                    require(kept < committed.xcnt && committed.xip[kept++] == xids[i], "lost one",
                            variants[v].name);
            require(kept == committed.xcnt, "kept one too many", variants[v].name);
        }
        free(committed.xip);
    }
}

/* With space for one XID too few, and for just enough. */
static void snapshots(const pgq_snapbuild_committed *committed)
{
    size_t n = committed->xcnt;
    uint32_t *raw = exactly(committed->xip, n, n), *none = calloc(n + 1, sizeof *none);

    if (n > 0)
        qsort(raw, n, sizeof *raw, by_number);
    for (size_t v = 0; v < pgq_snapbuild_snapshot_variant_count; v++) {
        const pgq_snapbuild_snapshot_variant *variant = &pgq_snapbuild_snapshot_variants[v];
        uint32_t *short_one = exactly(NULL, 0, n > 0 ? n - 1 : 0), *xip = exactly(NULL, 0, n);

        if (n > 0) {
            pgq_status status = variant->fn(committed, short_one, n - 1);

            answers[status.code]++;
            require(status.code == PGQ_SNAPBUILD_CAPACITY, "a snapshot without space", variant->name);
            require(same(short_one, none, (n - 1) * sizeof *none), "a refused snapshot was written",
                    variant->name);
        }
        require(variant->fn(committed, xip, n).code == PGQ_OK, "no snapshot", variant->name);
        require(same(xip, raw, n * sizeof *raw), "the snapshot is not the array, sorted", variant->name);
        free(short_one);
        free(xip);
    }
    free(none);
    free(raw);
}

static void inserts(const uint32_t *xids, size_t n, const uint32_t *batch, size_t m, bool claim, bool tight,
                    bool consistent)
{
    size_t expected_n;
    uint32_t *expected = exactly(xids, n, n + m);
    bool permanent = false;

    if (m > 0)
        memcpy(expected + n, batch, m * sizeof *expected);
    expected_n = sort_unique(expected, n + m);
    for (size_t i = 0; i < m; i++)
        permanent = permanent || batch[i] < 3;
    for (size_t v = 0; v < pgq_snapbuild_insert_variant_count; v++) {
        const char *name = pgq_snapbuild_insert_variants[v].name;
        size_t space = tight ? n : n + m;
        pgq_snapbuild_committed committed = {exactly(xids, n, space), n, space, claim};
        uint32_t *scratch = exactly(batch, m, m);
        pgq_status status;
        pgq_code code = permanent       ? PGQ_SNAPBUILD_XID_PERMANENT
                        : m > space - n ? PGQ_SNAPBUILD_CAPACITY
                                        : PGQ_OK;

        /* What lies behind the array is no part of it, whatever it is. */
        for (size_t i = n; i < space; i++)
            committed.xip[i] = batch[i - n];
        status = pgq_snapbuild_insert_variants[v].fn(&committed, scratch, m, consistent);
        answers[status.code]++;
        require(status.code == code, "the wrong answer to an insert", name);
        if (code != PGQ_OK) {
            require(committed.xcnt == n && committed.xcnt_space == space && committed.sorted == claim &&
                        same(committed.xip, xids, n * sizeof *xids),
                    "a refused insert changed the array", name);
            require(same(scratch, batch, m * sizeof *batch), "a refused insert changed the batch", name);
        } else {
            uint32_t *set = exactly(committed.xip, committed.xcnt, n + m);
            size_t set_n = sort_unique(set, committed.xcnt);

            require(set_n == expected_n && same(set, expected, set_n * sizeof *set),
                    "the array is not the union", name);
            require(!committed.sorted || set_n == committed.xcnt, "sorted, but with duplicates", name);
            snapshots(&committed);
            free(set);
        }
        free(scratch);
        free(committed.xip);
    }
    free(expected);
}

static void compresses(const uint32_t *xids, size_t n, uint32_t flags)
{
    bool *valid = malloc(n + 1);
    size_t tail = n == 0 ? 0 : flags % n;

    for (size_t v = 0; v < pgq_snapbuild_known_assigned_variant_count; v++) {
        const pgq_snapbuild_known_assigned_variant *variant = &pgq_snapbuild_known_assigned_variants[v];
        uint32_t *work = exactly(xids, n, n);
        size_t live, kept = 0;

        if (!variant->supported()) {
            free(work);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            valid[i] = (flags >> i % 31 ^ xids[i]) & 1;
        live = variant->fn(work, valid, tail, n);
        for (size_t i = tail; i < n; i++)
            if ((flags >> i % 31 ^ xids[i]) & 1)
                require(kept < live && work[kept++] == xids[i], "compressing lost one", variant->name);
        require(kept == live, "compressing kept one too many", variant->name);
        for (size_t i = 0; i < live; i++)
            require(valid[i], "compressing left a flag unset", variant->name);
        free(work);
    }
    free(valid);
}

/* Extends each of xids[0 .. n) to a run. If they must be sorted, keeps only the XIDs that rise strictly. */
static void long_purges(const uint32_t *xids, size_t n, uint32_t xmin, bool sorted)
{
    size_t run = sorted ? SORTED_RUN : RUN, total = 0;
    uint32_t *runs = malloc(n * run * sizeof *runs + 1);

    for (size_t i = 0; i < n * run; i++) {
        uint32_t xid = xids[i / run] + (uint32_t)(i % run);

        if (xid >= 3 && (!sorted || total == 0 || xid > runs[total - 1]))
            runs[total++] = xid;
    }
    if (sorted)
        purges(pgq_snapbuild_purge_sorted_variants, pgq_snapbuild_purge_sorted_variant_count, runs, total,
               xmin, true, true);
    else
        purges(pgq_snapbuild_purge_variants, pgq_snapbuild_purge_variant_count, runs, total, xmin, false,
               false);
    free(runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t xmin, *xids;
    size_t n, total;
    bool claim;

    if (size < 5)
        return 0;
    memcpy(&xmin, data + 1, 4);
    total = (size - 5) / 2 < MOST ? (size - 5) / 2 : MOST;
    xids = malloc(total * sizeof *xids + 1);
    for (size_t i = 0; i < total; i++) {
        uint32_t distance = (uint32_t)(data[5 + 2 * i] | data[6 + 2 * i] << 8);
        uint32_t xid = xmin + (distance >> 1) - (1 << 14) + (distance & 1) * 0x80000000u;

        xids[i] = xid < 3 ? 3 : xid;
        if (data[0] & PERMANENT && distance % 509 == 0)
            xids[i] = distance % 3;
    }
    n = total / 2;
    if (data[0] & SORTED) {
        size_t kept = sort_unique(xids, n);

        memmove(xids + kept, xids + n, (total - n) * sizeof *xids);
        total -= n - kept;
        n = kept;
    }

    /* A false claim to be sorted, and permanent XIDs, must be found. The kernels are then not called. */
    claim = data[0] & (SORTED | CLAIM);
    pgq_snapbuild_committed committed = {xids, n, n, claim};
    pgq_status status = pgq_snapbuild_committed_check(&committed);
    answers[status.code]++;
    for (size_t i = 0; i < n; i++)
        require(xids[i] >= 3 || status.code == PGQ_SNAPBUILD_XID_PERMANENT, "a permanent XID was not found",
                "check");
    for (size_t i = 1; claim && i < n; i++)
        require(xids[i - 1] < xids[i] || status.code != PGQ_OK, "disorder was not found", "check");
    if (status.code == PGQ_OK) {
        purges(pgq_snapbuild_purge_variants, pgq_snapbuild_purge_variant_count, xids, n, xmin, claim, false);
        purges(pgq_snapbuild_purge_sorted_variants, pgq_snapbuild_purge_sorted_variant_count, xids, n, xmin,
               claim, true);
        inserts(xids, n, xids + n, total - n, claim, data[0] & TIGHT, data[0] & CONSISTENT);
        compresses(xids, n, xmin);
        if (n <= FEW && (data[0] & DRAWN_OUT) == DRAWN_OUT)
            long_purges(xids, n, xmin, data[0] & SORTED);
    }
    free(xids);
    return 0;
}
