/* SPDX-License-Identifier: PostgreSQL */
/* The scan of line pointers by AVX2: the new line pointers, the tuples, the gaps between them, and all counts. */
#include "packed.h"

#include "compaction/avx2.c"

#include "scanned.h"

void proof(void)
{
    static scan s;
    bounds b = any_bounds();
    scanned x = expected(&b);
    uint32_t ngaps = 0, above = b.special;

    scan_line_pointers(page, &b, &s, IN_ONE);
    claim(s.out_of_bounds == x.out_of_bounds, "it is refused if and only if a tuple lies outside the bounds");
    if (x.out_of_bounds)
        return; /* the rest is of no use */
    claim(s.nitems == x.nitems && s.nused == x.nused, "it counts the tuples and the line pointers in use");
    claim(s.nline_left == x.nline_left, "it knows the last line pointer in use");
    claim(s.total == x.total && s.longest == x.longest, "it knows the sum of the lengths and the longest");
    for (uint32_t i = 0; i < N; i++)
        claim(s.words[i] == x.words[i], "each line pointer says where its tuple will lie");
    claim(off_above(&s, 0) == b.special, "pd_special stands before the first tuple");
    for (uint32_t i = 0; i < N; i++) {
        if (i >= x.nitems)
            break;
        claim(tuple_off(&s, i) == x.off[i] && tuple_len(&s, i) == x.len[i], "each tuple is listed, in order");
        claim(!x.gap[i] || s.gaps[ngaps] == (x.off[i] + x.len[i] | above << 16), "each gap is listed, in order");
        claim(!x.gap[i] || ngaps > 0 || s.first == i, "it knows the tuple below the first gap");
        ngaps += x.gap[i];
        above = x.off[i];
    }
    claim(s.ngaps == ngaps, "there is no other gap");
    claim(s.unsorted == x.unsorted, "the tuples are unsorted if and only if one does not start below the one before it");
    claim(s.overlapping == x.overlapping, "they overlap if and only if one ends above that start");
}
