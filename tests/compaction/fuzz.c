/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: makes a page of any bytes and gives it to every variant of compaction that this CPU runs. Each must
 * refuse the page, unchanged, with the fault that the definition below names, or repair it. The result is judged by the
 * contract in compaction.h, not by comparison with another variant.
 *
 * Input: byte 0 says how the rest is read. RAW: the page's own bytes, the header set right on request. Otherwise the rest
 * describes a page, five bytes a line pointer (see describe), so that most inputs reach the deep states; what is left
 * over after the description is applied to the page as patches of two bytes' position and one byte's value.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 8192,
    HEADER = 24,
    MAX_TUPLES = 291,
    CODES = 16,

    /* bits of byte 0 */
    TRUNCATE = 1,
    RAW = 2,
    FIX_HEADER = 4,
    UNSORTED = 8,
    PATCHED = 16
};

typedef struct line {
    unsigned off, flags, len, aligned;
} line;

static unsigned long long answers[CODES];

/* How often each answer was given. The runner fails if one was never given, as in a run that passes no check. */
__attribute__((destructor)) static void print_tally(void)
{
    static const struct {
        const char *name;
        pgq_code code;
    } meant[] = {
        {"repaired", PGQ_OK},
        {"HEADER", PGQ_COMPACTION_HEADER},
        {"LP_OFF", PGQ_COMPACTION_LP_OFF},
        {"LP_ALIGN", PGQ_COMPACTION_LP_ALIGN},
        {"LP_END", PGQ_COMPACTION_LP_END},
        {"TOO_MANY", PGQ_COMPACTION_TOO_MANY},
        {"TOTAL", PGQ_COMPACTION_TOTAL},
        {"OVERLAP", PGQ_COMPACTION_OVERLAP},
    };

    fprintf(stderr, "tally:");
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        fprintf(stderr, " %s=%llu", meant[i].name, answers[meant[i].code]);
    fprintf(stderr, "\n");
}

static unsigned get16(const uint8_t *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static line get_line(const uint8_t *page, unsigned i)
{
    const uint8_t *p = page + HEADER + 4 * i;
    uint32_t word = get16(p) | (uint32_t)get16(p + 2) << 16;
    unsigned len = word >> 17;

    return (line){word & 0x7fff, word >> 15 & 3, len, (len + 7) / 8 * 8};
}

static void put_line(uint8_t *page, unsigned i, unsigned off, unsigned flags, unsigned len)
{
    uint32_t word = (off & 0x7fff) | (flags & 3) << 15 | (uint32_t)(len & 0x7fff) << 17;

    put16(page + HEADER + 4 * i, word & 0xffff);
    put16(page + HEADER + 4 * i + 2, word >> 16);
}

static bool has_storage(line l)
{
    return l.flags != 0 && l.len != 0;
}

/* ---- making a page of the input ---- */

static void set_header(uint8_t *page, unsigned flags, unsigned lower, unsigned upper, unsigned special)
{
    put16(page + 10, flags);
    put16(page + 12, lower);
    put16(page + 14, upper);
    put16(page + 16, special);
}

static void fix_header(uint8_t *page)
{
    unsigned special = PAGE - get16(page + 16) % 64 * 8, lower = HEADER + get16(page + 12) % 1300;
    unsigned upper = lower + get16(page + 14) % (special - lower + 1);

    set_header(page, get16(page + 10), lower, upper, special);
}

/*
 * A well-formed page, unless the description says otherwise. Three bytes: special space, remainder of pd_lower and slack
 * below the tuples, number of repetitions of the pattern of line pointers. Then four bytes for each line pointer of the
 * pattern: kind (low 3 bits: 0, 1 unused; 2 dead without storage; 3 redirect; else stored, flags by bits 3 and 4), length
 * (times 1, or 8 if bit 5 of kind is set), gap above the tuple in units of 8, and where the tuple goes when the page is to
 * be unsorted. Returns how many bytes were used.
 */
static size_t describe(uint8_t *page, const uint8_t *in, size_t size, bool unsorted)
{
    unsigned special, repeat, pos, nline = 0, nstored = 0, slack;
    unsigned room = 0, stored[512];
    size_t pattern = 0, used;

    if (size < 3)
        return size;
    special = PAGE - (in[0] < 128 ? 0 : in[0] % 8 * 8);
    slack = in[1];
    repeat = 1 + in[2] % 32;
    in += 3, size -= 3;
    while (pattern < 96 && (pattern + 1) * 4 <= size && in[pattern * 4] != 0xff)
        pattern++;
    used = 3 + pattern * 4 + (pattern < 96 && size > pattern * 4);

    pos = special;
    for (unsigned r = 0; r < repeat; r++)
        for (size_t k = 0; k < pattern && nline < 500; k++) {
            const uint8_t *p = in + 4 * k;
            unsigned kind = p[0] % 8, len = p[0] & 32 ? p[1] * 8u : p[1], gap = p[2] < 200 ? 0 : p[2] % 8 * 8;
            unsigned aligned = (len + 7) / 8 * 8;

            room = HEADER + 4 * (nline + 1) + 3;
            if (kind < 2) {
                put_line(page, nline++, kind ? p[1] * 99u : 0, 0, kind ? p[2] * 77u : 0);
            } else if (kind < 4 || len == 0) {
                put_line(page, nline++, kind == 3 ? p[1] : 0, kind == 2 ? 3 : 2, 0);
            } else {
                if (pos < room + aligned + gap)
                    goto full;
                pos -= gap + aligned;
                stored[nstored++] = nline;
                put_line(page, nline++, pos, (p[0] >> 3 & 3) ? p[0] >> 3 & 3 : 1, len);
            }
        }
full:
    if (unsorted && pattern > 0)
        for (unsigned k = 0; k < nstored; k++) {
            unsigned j = (k * 7919u + in[4 * (k % pattern) + 3]) % nstored;
            uint8_t *a = page + HEADER + 4 * stored[k], *b = page + HEADER + 4 * stored[j], t[4];

            memcpy(t, a, 4);
            memcpy(a, b, 4);
            memcpy(b, t, 4);
        }
    room = HEADER + 4 * nline + slack % 4;
    set_header(page, slack, room, pos < room + slack ? room : pos - slack, special);
    return used > size + 3 ? size + 3 : used;
}

static void patch(uint8_t *page, const uint8_t *in, size_t size)
{
    for (; size >= 3; in += 3, size -= 3)
        page[get16(in) % PAGE] = in[2];
}

static bool make_page(uint8_t *page, const uint8_t *in, size_t size)
{
    uint8_t how = in[0];
    uint32_t filler = 2463534242u;

    /* Bytes that differ from their neighbours, so that a wrong move shows. */
    for (unsigned i = 0; i < PAGE; i++) {
        filler = filler * 1664525u + 1013904223u;
        page[i] = (uint8_t)(filler >> 24);
    }
    in++, size--;
    if (how & RAW) {
        memcpy(page, in, size < PAGE ? size : PAGE);
        if (how & FIX_HEADER)
            fix_header(page);
    } else {
        size_t used = describe(page, in, size, how & UNSORTED);

        if (how & PATCHED)
            patch(page, in + used, size - used);
    }
    return how & TRUNCATE;
}

/* ---- judging an answer ---- */

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: variant %s: not so: %s\n", __FILE__, __LINE__, variant, #condition);     \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static pgq_code fault_of(line l, unsigned upper, unsigned special, unsigned nstored)
{
    if (l.off < upper || l.off >= special)
        return PGQ_COMPACTION_LP_OFF;
    if (l.off % 8 != 0)
        return PGQ_COMPACTION_LP_ALIGN;
    if (l.off + l.aligned > special)
        return PGQ_COMPACTION_LP_END;
    return nstored > MAX_TUPLES ? PGQ_COMPACTION_TOO_MANY : PGQ_OK;
}

/* The definition: the first fault of a page, in the order of pgquern.h. */
static pgq_status first_fault(const uint8_t *page)
{
    unsigned lower = get16(page + 12), upper = get16(page + 14), special = get16(page + 16), n;
    unsigned total = 0, nstored = 0, previous = PAGE, overlapping = 0;
    bool falling = true;

    if (lower < HEADER || lower > upper || upper > special || special > PAGE || special % 8 != 0)
        return (pgq_status){PGQ_COMPACTION_HEADER, 0};
    n = (lower - HEADER) / 4;
    for (unsigned i = 0; i < n; i++) {
        line l = get_line(page, i);
        pgq_code code;

        if (!has_storage(l))
            continue;
        code = fault_of(l, upper, special, ++nstored);
        if (code != PGQ_OK)
            return (pgq_status){code, i + 1};
        total += l.aligned;
        falling = falling && l.off < previous;
        if (overlapping == 0 && l.off + l.aligned > previous)
            overlapping = i + 1;
        previous = l.off;
    }
    if (total > special - lower)
        return (pgq_status){PGQ_COMPACTION_TOTAL, 0};
    return falling && overlapping ? (pgq_status){PGQ_COMPACTION_OVERLAP, overlapping}
                                  : (pgq_status){PGQ_OK, 0};
}

/* Whether tuple a must end up above tuple b. */
static bool is_above(const uint8_t *before, pgq_compaction_order order, unsigned a, unsigned b)
{
    unsigned off_a = get_line(before, a).off, off_b = get_line(before, b).off;

    return order == PGQ_COMPACTION_ORDER_ITEM || off_a == off_b ? a < b : off_a > off_b;
}

static void judge(const char *variant, pgq_compaction_order order, const uint8_t *before,
                  const uint8_t *after, bool truncate)
{
    unsigned lower = get16(before + 12), special = get16(before + 16);
    unsigned n = (lower - HEADER) / 4, kept = n, total = 0, unused = 0, new_upper;
    unsigned at[PAGE / 8], previous; /* line pointer + 1 of the tuple that starts in a unit of 8 bytes */

    memset(at, 0, sizeof at);
    while (truncate && kept > 0 && get_line(before, kept - 1).flags == 0)
        kept--;
    for (unsigned i = 0; i < n; i++) {
        line l = get_line(before, i), m = get_line(after, i);

        unused += i < kept && l.flags == 0;
        if (has_storage(l)) {
            REQUIRE(m.flags == l.flags && m.len == l.len && m.off >= lower && m.off % 8 == 0);
            REQUIRE(m.off + l.aligned <= special);
            REQUIRE(memcmp(before + l.off, after + m.off, l.aligned) == 0);
            REQUIRE(at[m.off / 8] == 0);
            at[m.off / 8] = i + 1;
            total += l.aligned;
        } else {
            REQUIRE(m.flags == l.flags && m.len == (l.flags ? l.len : 0) && m.off == (l.flags ? l.off : 0));
        }
    }
    new_upper = special - total;
    REQUIRE(get16(after + 14) == new_upper);
    REQUIRE(get16(after + 12) == lower - 4 * (n - kept));
    REQUIRE(get16(after + 10) == ((get16(before + 10) & ~1u) | (unused != 0)));

    /* Packed, in order: from pd_upper up, each tuple starts where the one below it ends. */
    previous = 0;
    for (unsigned pos = new_upper; pos < special;) {
        unsigned i = at[pos / 8];

        REQUIRE(i != 0);
        REQUIRE(previous == 0 || is_above(before, order, i - 1, previous - 1));
        previous = i;
        pos += get_line(before, i - 1).aligned;
    }

    REQUIRE(memcmp(before, after, 10) == 0 && memcmp(before + 16, after + 16, 8) == 0);
    REQUIRE(memcmp(before + HEADER + 4 * n, after + HEADER + 4 * n, new_upper - HEADER - 4 * n) == 0);
    REQUIRE(memcmp(before + special, after + special, PAGE - special) == 0);
}

static void try_variant(const pgq_compaction_variant *v, const uint8_t *before, uint8_t *after, bool truncate)
{
    const char *variant = v->name;
    pgq_status expected = first_fault(before), got;

    memcpy(after, before, PAGE);
    got = v->fn(after, truncate);
    REQUIRE(got.code == expected.code && got.index == expected.index);
    if (got.code == PGQ_OK)
        judge(variant, v->order, before, after, truncate);
    else
        REQUIRE(memcmp(before, after, PAGE) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* On the heap, each page by itself: a byte read or written outside it is an ASan report. */
    uint8_t *before, *after;
    bool truncate;
    pgq_status status;

    if (size == 0)
        return 0;
    before = malloc(PAGE);
    after = malloc(PAGE);
    if (before == NULL || after == NULL)
        abort();
    truncate = make_page(before, data, size);
    for (size_t i = 0; i < pgq_compaction_variant_count; i++)
        if (pgq_compaction_variants[i].supported())
            try_variant(&pgq_compaction_variants[i], before, after, truncate);
    status = first_fault(before);
    answers[status.code]++;
    free(before);
    free(after);
    return 0;
}
