/* SPDX-License-Identifier: PostgreSQL */
/* A scan of line pointers by AVX-512: as by AVX2, and where each tuple ends now and must end. */
#include "bounded.h"

#include <immintrin.h>

__m512i nondet_register(void);

/* Constant registers as unknown ones of which each lane must be right: CBMC is slow where it works constants out itself. */
static inline __m512i every(short lane)
{
    __m512i v = nondet_register();
    s16of64 lanes = (s16of64)v;

    for (size_t i = 0; i < 32; i++)
        assume(lanes[i] == lane);
    return v;
}

static inline __m512i listed(const short from_last[32])
{
    __m512i v = nondet_register();
    s16of64 lanes = (s16of64)v;

    for (size_t i = 0; i < 32; i++)
        assume(lanes[i] == from_last[31 - i]);
    return v;
}
#define _mm512_set1_epi16(lane) every((short)(lane))
#undef _mm512_set_epi16
#define _mm512_set_epi16(...) listed((const short[]){__VA_ARGS__})

#include "compaction/avx512vbmi2.c"

#include "scanned.h"

void proof(void)
{
    static scan s;
    bounds b = any_bounds();
    scanned x = expected(&b);
    uint32_t ngaps = 0, first = N;
    int32_t before = 0;
    bool falls = false;

    SCAN(page, &b, &s);
    claim(s.out_of_bounds == x.out_of_bounds, "it is refused if and only if a tuple lies outside the bounds");
    if (x.out_of_bounds)
        return; /* the rest is of no use */
    claim(s.total == x.total && s.longest == x.longest, "it knows the sum of the lengths and the longest");
    if (x.total > b.special - b.lower)
        return; /* nor is it here */
    claim(s.nitems == x.nitems && s.nused == x.nused, "it counts the tuples and the line pointers in use");
    claim(s.nline_left == x.nline_left, "it knows the last line pointer in use");
    claim(s.new_upper == b.special - x.total, "it knows where the last tuple must start");
    for (uint32_t i = 0; i < N; i++)
        claim(s.words[i] == x.words[i], "each line pointer says where its tuple will lie");
    /* Where nothing moves, nobody asks for the lists. */
    for (uint32_t i = 0; i < N; i++) {
        int32_t shift = (int32_t)(x.new_off[i] - x.off[i]);

        if (i >= x.nitems)
            break;
        first = first == N && shift != before ? i : first;
        falls = falls || shift < before;
        if (s.ngaps != 0 || s.falls) {
            claim(s.ends[i] == (uint16_t)(x.new_off[i] + x.len[i]), "each tuple's new end is listed, in order");
            claim(s.old_ends[i] == x.off[i] + x.len[i], "each tuple's end is listed, in order");
            claim(s.falls || shift <= before ||
                      (s.run_ends[ngaps] == s.ends[i] && s.run_old_ends[ngaps] == s.old_ends[i]),
                  "each run's ends are listed, in order");
        }
        ngaps += shift > before;
        before = shift;
    }
    claim(s.ngaps == ngaps, "it counts the tuples that move further than the one before them");
    claim(s.falls == falls, "it sees whether one moves less far");
    claim(first == N || s.first == first, "it knows the first tuple that moves");
    claim(first == N || (s.ends[x.nitems] == (uint16_t)s.new_upper && s.old_ends[x.nitems] == (uint16_t)s.new_upper),
          "the new pd_upper ends the lists");
}
