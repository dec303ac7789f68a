/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: makes arrays, records and decisions of any bytes and gives them to every variant that this CPU runs. Each
 * must refuse what the contract in datfrozenxid.h refuses, and then write nothing, or give the result of the plain definitions below. Arrays have
 * memory of exactly their size, so that AddressSanitizer sees an access beyond.
 *
 * Input: byte 0 says how to read the rest; four numbers: starts and next ids; then values of two bytes each. A value is an id by its
 * distance from the next id to be assigned, from the point half a ring away, or from 0.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 300,
    DRAWN_OUT = 4200, /* values of a short array that is repeated: several chunks */
    HEAD = 17,

    /* bits of byte 0 */
    MULTIXACT = 1,
    PAST = 2,    /* no value lies in the future */
    REPEAT = 12, /* both bits: repeat the array */
    ANY_START = 16
};

/* What an output holds before a call. It must still hold it after a refusal. */
static const pgq_datfrozenxid_pair UNTOUCHED = {77, 78};

static unsigned long long done, future_xid, future_multi, bounds_wrong, updates, keeps, undecided;

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr,
            "tally: done=%llu FUTURE_XID=%llu FUTURE_MULTI=%llu BOUNDS=%llu updates=%llu keeps=%llu "
            "undecided=%llu\n",
            done, future_xid, future_multi, bounds_wrong, updates, keeps, undecided);
}

static void require(bool holds, const char *what, const char *variant)
{
    if (!holds) {
        fprintf(stderr, "fuzz datfrozenxid: %s: %s\n", variant, what);
        abort();
    }
}

static bool precedes(uint32_t a, uint32_t b, bool multixact)
{
    return multixact || (a > 2 && b > 2) ? (int32_t)(a - b) < 0 : a < b;
}

static bool normal(uint32_t x, bool multixact)
{
    return multixact ? x > 0 : x > 2;
}

static bool sound(uint32_t start, uint32_t sane, bool multixact)
{
    return normal(start, multixact) && normal(sane, multixact) && !precedes(sane, start, multixact);
}

/* One look at one value. False: it lies in the future. */
static bool look(uint32_t x, uint32_t sane, bool multixact, uint32_t *oldest)
{
    if (x != 0 && precedes(sane, x, multixact))
        return false;
    if (x != 0 && precedes(x, *oldest, multixact))
        *oldest = x;
    return true;
}

static void array_by_all(const uint32_t *values, size_t n, pgq_datfrozenxid_bounds bounds)
{
    uint32_t oldest = bounds.start;
    pgq_status wanted = {PGQ_OK, 0};

    if (!sound(bounds.start, bounds.last_sane, bounds.multixact))
        wanted.code = PGQ_DATFROZENXID_BOUNDS;
    for (size_t i = 0; i < n && wanted.code == PGQ_OK; i++)
        if (!look(values[i], bounds.last_sane, bounds.multixact, &oldest))
            wanted =
                (pgq_status){bounds.multixact ? PGQ_DATFROZENXID_FUTURE_MULTI : PGQ_DATFROZENXID_FUTURE_XID,
                             (uint32_t)i + 1};
    for (size_t v = 0; v < pgq_datfrozenxid_min_frozen_variant_count; v++) {
        const pgq_datfrozenxid_min_frozen_variant *variant = &pgq_datfrozenxid_min_frozen_variants[v];
        uint32_t minimum = UNTOUCHED.xid;
        pgq_status status;

        if (!variant->supported())
            continue;
        status = variant->fn(values, n, &bounds, &minimum);
        require(status.code == wanted.code && status.index == wanted.index, "another answer", variant->name);
        require(minimum == (wanted.code == PGQ_OK ? oldest : UNTOUCHED.xid), "another minimum",
                variant->name);
    }
    *(wanted.code == PGQ_OK                          ? &done
      : wanted.code == PGQ_DATFROZENXID_BOUNDS       ? &bounds_wrong
      : wanted.code == PGQ_DATFROZENXID_FUTURE_MULTI ? &future_multi
                                                     : &future_xid) += 1;
}

/*
 * The values as rows of 9 bytes: relkind by the lowest bits of the XID; the next value is the MultiXactId. Of three kinds the
 * lower seven bits are those of rows that count.
 */
static void rows_by_all(const uint32_t *values, size_t n, pgq_datfrozenxid_pair start,
                        pgq_datfrozenxid_pair sane)
{
    unsigned char *records = malloc(9 * n + 1);
    pgq_datfrozenxid_rows rows = {records, n, 9, 0, 1};
    pgq_datfrozenxid_pair oldest = start;
    pgq_status wanted = {PGQ_OK, 0};

    if (records == NULL)
        abort();
    if (!sound(start.xid, sane.xid, false) || !sound(start.multi, sane.multi, true))
        wanted.code = PGQ_DATFROZENXID_BOUNDS;
    for (size_t i = 0; i < n; i++) {
        pgq_datfrozenxid_pair ids = {values[i], values[(i + 1) % n]};

        records[9 * i] = (unsigned char)"rmtirtmSrmt\xf2\xed\xf4mr"[values[i] % 16];
        memcpy(records + 9 * i + 1, &ids, sizeof ids);
        if (wanted.code != PGQ_OK || strchr("rmt", records[9 * i]) == NULL)
            continue;
        if (!look(ids.xid, sane.xid, false, &oldest.xid))
            wanted = (pgq_status){PGQ_DATFROZENXID_FUTURE_XID, (uint32_t)i + 1};
        else if (!look(ids.multi, sane.multi, true, &oldest.multi))
            wanted = (pgq_status){PGQ_DATFROZENXID_FUTURE_MULTI, (uint32_t)i + 1};
    }
    for (size_t v = 0; v < pgq_datfrozenxid_min_frozen_strided_variant_count; v++) {
        const pgq_datfrozenxid_min_frozen_strided_variant *variant =
            &pgq_datfrozenxid_min_frozen_strided_variants[v];
        pgq_datfrozenxid_pair minimum = UNTOUCHED;
        pgq_status status;

        if (!variant->supported())
            continue;
        status = variant->fn(&rows, &start, &sane, &minimum);
        require(status.code == wanted.code && status.index == wanted.index, "another row", variant->name);
        if (wanted.code != PGQ_OK)
            oldest = UNTOUCHED;
        require(minimum.xid == oldest.xid && minimum.multi == oldest.multi, "other minima", variant->name);
    }
    free(records);
}

static void decide_by_all(pgq_datfrozenxid_pair stored, pgq_datfrozenxid_pair minimum,
                          pgq_datfrozenxid_pair sane)
{
    bool xid = stored.xid != minimum.xid &&
               (precedes(stored.xid, minimum.xid, false) || precedes(sane.xid, stored.xid, false));
    bool multi = stored.multi != minimum.multi &&
                 (precedes(stored.multi, minimum.multi, true) || precedes(sane.multi, stored.multi, true));

    bool refused = !sound(minimum.xid, sane.xid, false) || !sound(minimum.multi, sane.multi, true);

    for (size_t v = 0; v < pgq_datfrozenxid_need_update_variant_count; v++) {
        const pgq_datfrozenxid_need_update_variant *variant = &pgq_datfrozenxid_need_update_variants[v];
        pgq_datfrozenxid_changes changes;
        pgq_status status;

        memset(&changes, 77, sizeof changes);
        status = variant->fn(&stored, &minimum, &sane, &changes);
        require(status.code == (refused ? PGQ_DATFROZENXID_BOUNDS : PGQ_OK), "another answer", variant->name);
        if (refused)
            require(*(const unsigned char *)&changes.xid == 77 &&
                        *(const unsigned char *)&changes.multi == 77,
                    "written though refused", variant->name);
        else
            require(changes.xid == xid && changes.multi == multi, "another decision", variant->name);
    }
    if (refused) {
        undecided++;
        return;
    }
    *(xid ? &updates : &keeps) += 1;
}

static uint32_t number(const uint8_t *data)
{
    uint32_t x;

    memcpy(&x, data, sizeof x);
    return x;
}

/* Two bytes as an id near the next one, near its opposite, or near 0; or far behind it. */
static uint32_t value(const uint8_t *data, uint32_t sane, bool past, bool multixact)
{
    uint32_t low = data[0] | (uint32_t)(data[1] & 15) << 8, place = data[1] >> 4;
    uint32_t x = place < 6    ? sane - low
                 : place < 10 ? sane - low * 500000u
                 : place < 12 ? sane + 8 - low
                 : place < 14 ? sane + 0x80000000u + 8 - low
                              : low % 5;

    return past && x != 0 && precedes(sane, x, multixact) ? sane : x;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = 0, few;
    uint32_t *values;
    bool multixact;
    pgq_datfrozenxid_pair start, sane;

    if (size < HEAD)
        return 0;
    multixact = data[0] & MULTIXACT;
    sane = (pgq_datfrozenxid_pair){number(data + 1), number(data + 5)};
    start = (pgq_datfrozenxid_pair){number(data + 9), number(data + 13)};
    if (!(data[0] & ANY_START)) {
        sane = (pgq_datfrozenxid_pair){sane.xid > 2 ? sane.xid : 3, sane.multi > 0 ? sane.multi : 1};
        start = sound(start.xid, sane.xid, false) && sound(start.multi, sane.multi, true) ? start : sane;
    }
    few = (size - HEAD) / 2 < MOST ? (size - HEAD) / 2 : MOST;
    n = (data[0] & REPEAT) == REPEAT && few > 0 ? DRAWN_OUT : few;
    values = malloc(n * sizeof *values + (n == 0));
    if (values == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        values[i] =
            value(data + HEAD + 2 * (i % few), multixact ? sane.multi : sane.xid, data[0] & PAST, multixact);
    array_by_all(values, n,
                 (pgq_datfrozenxid_bounds){multixact ? start.multi : start.xid,
                                           multixact ? sane.multi : sane.xid, multixact});
    rows_by_all(values, n, start, sane);
    for (size_t i = 0; i + 1 < few && i < 16; i++)
        decide_by_all((pgq_datfrozenxid_pair){values[i], values[i + 1]}, start, sane);
    free(values);
    return 0;
}
