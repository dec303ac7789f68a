/* SPDX-License-Identifier: PostgreSQL */
/* The steps of the scan by NEON on a whole register, of eight line pointers or tuples. */
#include "bounded.h"
#include "compaction/neon.c"

static uint16x8_t any_lanes(uint16_t lane[LANES])
{
    for (size_t i = 0; i < LANES; i++)
        lane[i] = nondet_u16();
    return vld1q_u16(lane);
}

static void sums(void)
{
    uint16_t lane[LANES], found[LANES];

    vst1q_u16(found, prefix_sums(any_lanes(lane)));
    /* By doubling, as the kernel does: a solver takes long for another order. */
    for (size_t step = 1; step < LANES; step *= 2)
        for (size_t i = LANES - 1; i >= step; i--)
            lane[i] = (uint16_t)(lane[i] + lane[i - step]);
    for (size_t i = 0; i < LANES; i++)
        claim(found[i] == lane[i], "each prefix sum is right");
}

static void packing(void)
{
    uint16_t stored[LANES], end[LANES], old_end[LANES];
    uint16x8_t ends = any_lanes(end), old_ends = any_lanes(old_end);
    tuple tuples[2 * LANES], *next;
    size_t n = 0;

    for (size_t i = 0; i < LANES; i++)
        stored[i] = nondet_bool() ? UINT16_MAX : 0;
    next = pack_tuples(tuples, vld1q_u16(stored), ends, old_ends);
    for (size_t i = 0; i < LANES; i++)
        if (stored[i]) {
            claim(tuples[n].end == end[i] && tuples[n].old_end == old_end[i], "each tuple is listed, in order");
            n++;
        }
    claim(next == tuples + n, "the next one goes behind them");
}

/* Of n tuples, behind which the last one's distance stands again. */
static void comparison_of(uint32_t n)
{
    static scan s;
    uint32_t ngaps = 0, first = n;
    int16_t before = 0;
    bool falls = false;

    s.nitems = n;
    for (uint32_t i = 0; i < n; i++)
        s.tuples[i] = (tuple){nondet_u16(), nondet_u16()};
    put_tuples(s.tuples + n, s.tuples[n - 1].end, s.tuples[n - 1].old_end);
    compare_tuples(&s);
    for (uint32_t i = 0; i < n; i++) {
        int16_t shift = (int16_t)(s.tuples[i].end - s.tuples[i].old_end);

        claim(s.gaps[i] == (shift > before ? 0xff : 0), "a tuple that moves further than the one before it is marked");
        ngaps += shift > before;
        falls = falls || shift < before;
        first = first == n && shift != before ? i : first;
        before = shift;
    }
    claim(s.ngaps == ngaps, "it counts those that move further");
    claim(s.falls == falls, "it sees whether one moves less far");
    claim(first == n || s.first == first, "it knows the first tuple that moves");
}

static void comparison(void)
{
    for (uint32_t n = 1; n <= N; n++)
        comparison_of(n);
}

void proof(void)
{
    STEP();
}
