/* SPDX-License-Identifier: PostgreSQL */
/* Inputs of `datfrozenxid_min_frozen_strided`: see tools/judge/inputs.h. */
#include "../tests/datfrozenxid/judge_ids.h"

#define ANY_BYTES 4 /* the records */
enum { LENT_MOST = 5 };

/* Up to the end of the last field. */
static size_t bytes_of(const pgq_datfrozenxid_rows *rows)
{
    size_t end =
        rows->relkind_at + 1 > rows->relfrozenxid_at + 8 ? rows->relkind_at + 1 : rows->relfrozenxid_at + 8;

    return rows->n == 0 ? 0 : (rows->n - 1) * rows->stride + end;
}

static bool is_sound(const pgq_datfrozenxid_rows *rows)
{
    return rows->n <= 1u << 28 && (rows->n <= 1 || rows->n <= JUDGE_JUMBO / (rows->stride + 1)) &&
           rows->relkind_at < rows->stride && rows->stride >= 8 &&
           rows->relfrozenxid_at <= rows->stride - 8 &&
           (rows->n == 0 || bytes_of(rows) <= JUDGE_JUMBO - (1u << 20));
}

static void stage(judge_host *host, void *there)
{
    arguments *a = there;
    pgq_datfrozenxid_rows *rows = judge_show(host, &a->rows, sizeof *a->rows, 8);

    judge_show(host, &a->start, sizeof *a->start, 4);
    judge_show(host, &a->last_sane, sizeof *a->last_sane, 4);
    judge_lend(host, &a->minimum, sizeof *a->minimum, 4);
    if (rows == NULL || rows->records == NULL)
        return;
    if (!is_sound(rows))
        judge_forbid(host, &rows->records);
    else if (rows->stride <= JUDGE_AREA)
        judge_show(host, &rows->records, bytes_of(rows), 1);
    else { /* what lies between the fields need not be there */
        const char *from = rows->records;
        char *to = judge_show_later(host, &rows->records, bytes_of(rows), 1);
        for (size_t at = 0, i = 0; i < rows->n; i++, at += rows->stride) {
            to[at + rows->relkind_at] = from[at + rows->relkind_at];
            memcpy(to + at + rows->relfrozenxid_at, from + at + rows->relfrozenxid_at, 8);
        }
    }
}

static void fill(inputs *in, arguments *a)
{
    static const char kinds[] = {'r', 'm', 't', 'i', 'S', 'v', 'c', 'f', 'p', 'I', 0, 'R'};
    pgq_datfrozenxid_rows *rows = take(in, sizeof *rows);
    pgq_datfrozenxid_pair *last = take(in, sizeof *last), *start = take(in, sizeof *start);

    *last = (pgq_datfrozenxid_pair){some_last(in), some_last(in)};
    *start = (pgq_datfrozenxid_pair){normal(some_id(in, last->xid)), normal(some_id(in, last->multi))};
    const bool far = in->n < 0 && one_in(in, 4096); /* beyond 4 GiB */
    size_t n = far ? below(in, 7) : length(in, 1500), stride = 9 + below(in, 300);
    if (far)
        stride += 1u << 30;
    else if (in->n >= 0 || one_in(in, 2))
        stride = 144 + 8 * below(in, 9);
    size_t xid_at = in->n >= 0 ? 124 : below(in, stride - 8), kind_at = in->n >= 0 ? 115 : below(in, stride);
    if (kind_at >= xid_at && kind_at < xid_at + 8)
        kind_at = xid_at + 8;
    *rows = (pgq_datfrozenxid_rows){NULL, n, stride, kind_at, xid_at};
    char *records = take(in, n * stride + 16);
    bool faults = in->n < 0 && one_in(in, 3), young = in->n < 0 && one_in(in, n > LONG ? 1 : 4);
    size_t decides = young && n > 0 ? below(in, n) : SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        uint32_t ids[2] = {some_value(in, last->xid, faults, young),
                           some_value(in, last->multi, faults, young)};
        if (i == decides)
            ids[decides % 2] = deciding_value(in, decides % 2 == 0 ? last->xid : last->multi);
        char *at = records + i * stride;
        at[kind_at] = kinds[kept(in, 60) ? below(in, 3) : below(in, sizeof kinds)];
        memcpy(at + xid_at, ids, sizeof ids);
    }
    rows->records = records;
    a->rows = rows;
    a->start = start;
    a->last_sane = last;
    a->minimum = take(in, sizeof *a->minimum);
    *a->minimum = (pgq_datfrozenxid_pair){0x5a5a5a5a, 0x5a5a5a5a};
    if (odd(in)) {
        switch (below(in, 6)) {
        case 0:
            a->rows = NULL;
            break;
        case 1:
            rows->n = 1 + (1u << 28) + edge(in, 30);
            break;
        case 2:
            a->minimum = NULL;
            break;
        case 3:
            start->multi = (uint32_t)edge(in, 32);
            break;
        case 4:
            rows->relfrozenxid_at = stride - 7 + edge(in, 40);
            rows->n += 2;
            break;
        default:
            rows->records = NULL;
            break;
        }
    }
}
