/* SPDX-License-Identifier: PostgreSQL */
/* The scan of line pointers of `scalar`, with all that it checks. */
#include "compaction/scalar.c"

#include "scanned.h"

void proof(void)
{
    static scan s;
    bounds b = any_bounds();
    scanned x = expected(&b);
    uint32_t lengths = 0, ngaps = 0, gaps[N];

    scan_line_pointers(page, &b, &s);
    claim(s.refused == (x.out_of_bounds || x.total > b.special - b.lower || (x.overlapping && !x.unsorted)),
          "it is refused if and only if a tuple lies outside, there is no room, or presorted ones overlap");
    if (s.refused)
        return; /* the rest is of no use */
    claim(s.nitems == x.nitems && s.nused == x.nused && s.total == x.total && s.unsorted == x.unsorted,
          "it knows how many there are, the sum of the lengths, and whether they are out of order");
    for (uint32_t i = 0; i < N; i++)
        claim((i < s.nkept ? load32(line_pointer(page, i)) : s.words[i]) == x.words[i],
              "each line pointer says where its tuple will lie");
    for (uint32_t i = 0; i < N; i++) {
        if (i >= x.nitems)
            break;
        claim(s.tuples[i] == (x.off[i] | x.len[i] << 16), "each tuple is listed, in order");
        if (x.gap[i])
            gaps[ngaps++] = i;
        lengths |= x.len[i];
    }
    claim(s.lengths == lengths && s.ngaps == ngaps && (ngaps < 1 || s.gaps[0] == gaps[0]) && (ngaps < 2 || s.gaps[1] == gaps[1]),
          "it lists the tuples behind gaps, and knows the bits of the lengths");
}
