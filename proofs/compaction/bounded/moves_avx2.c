/* SPDX-License-Identifier: PostgreSQL */
/* A way to move tuples by AVX2, on every page for which move_tuples may choose it. */
#include "moved.h"
#include "packed.h"

#include "compaction/avx2.c"

/* What the scan makes of the tuples: the proof `scan_avx2`. */
static void put_scan(scan *s, const moved *m)
{
    uint32_t above = m->b.special;

    s->nitems = m->n, s->total = m->total, s->longest = m->longest, s->ngaps = 0;
    s->unsorted = s->overlapping = false;
    s->tuples[0] = m->b.special;
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t end = m->off[i] + m->len[i];

        s->tuples[1 + i] = m->off[i] | m->len[i] << 16;
        if (end != above) {
            s->first = s->ngaps == 0 ? i : s->first;
            s->gaps[s->ngaps++] = end | above << 16;
        }
        s->unsorted = s->unsorted || m->off[i] >= above;
        s->overlapping = s->overlapping || end > above;
        above = m->off[i];
    }
}

/* n tuples, of which number `first` is the first that moves: a number that is known is proved much faster. */
static void move(uint32_t n, uint32_t first)
{
    uint32_t at = any_place();
    scan s;
    moved m = any_tuples(n, LEAST, MOST);

    put_scan(&s, &m);
    assume(s.ngaps != 0 && (s.unsorted || !s.overlapping));
    assume(FOR);
    assume(s.first == first);
    s.first = first;
    WAY;
    claim(!is_moved(&m, at) || page[at] == before[comes_from(&m, at)], "each tuple lies where it must, as it was");
    claim(is_moved(&m, at) || page[at] == before[at], "no other byte changes");
}

void proof(void)
{
    for (uint32_t n = 1; n <= N; n++)
        for (uint32_t first = 0; first < n; first++)
            move(n, first);
}
