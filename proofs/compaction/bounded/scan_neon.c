/* SPDX-License-Identifier: PostgreSQL */
/* The scan of line pointers by NEON, up to the comparison of the tuples, which steps_neon.c has. */
#include "compaction/neon.c"

#include "scanned.h"

void proof(void)
{
    static scan s;
    bounds b = any_bounds();
    scanned x = expected(&b);

    scan_line_pointers(page, &b, &s);
    claim(s.out_of_bounds == x.out_of_bounds, "it is refused if and only if a tuple lies outside the bounds");
    if (x.out_of_bounds)
        return; /* the rest is of no use */
    claim(s.nitems == x.nitems && s.nused == x.nused, "it counts the tuples and the line pointers in use");
    claim(s.nline_left == x.nline_left, "it knows the last line pointer in use");
    claim(s.total == x.total && s.longest == x.longest, "it knows the sum of the lengths and the longest");
    claim(s.new_upper == b.special - x.total, "it knows where the last tuple must start");
    for (uint32_t i = 0; i < N; i++)
        claim(load32(s.words + 4 * i) == x.words[i], "each line pointer says where its tuple will lie");
    for (uint32_t i = 0; i < N; i++) {
        if (i >= x.nitems)
            break;
        claim(s.tuples[i].end == (uint16_t)(x.new_off[i] + x.len[i]), "each tuple's new end is listed, in order");
        claim(s.tuples[i].old_end == x.off[i] + x.len[i], "each tuple's end is listed, in order");
    }
    claim(s.tuples[x.nitems].end == (uint16_t)s.new_upper, "the new pd_upper ends the list");
}
