/* SPDX-License-Identifier: PostgreSQL */
/* A way to move tuples by AVX-512, on every page for which move_tuples may choose it. */
#include "moved.h"

#include "compaction/avx512vbmi2.c"

/* What a scan makes of the tuples: the proof `scan_avx512 of few`. */
static void put_scan(scan *s, const moved *m)
{
    int32_t last = 0;

    s->nitems = m->n, s->total = m->total, s->new_upper = m->b.special - m->total;
    s->longest = m->longest, s->shortest = m->shortest;
    s->ngaps = 0, s->first = UINT16_MAX, s->falls = false;
    for (uint32_t i = 0; i < m->n; i++) {
        int32_t shift = (int32_t)(m->new_off[i] - m->off[i]);

        s->ends[i] = (uint16_t)(m->new_off[i] + m->len[i]);
        s->old_ends[i] = (uint16_t)(m->off[i] + m->len[i]);
        if (shift > last) {
            s->run_ends[s->ngaps] = s->ends[i];
            s->run_old_ends[s->ngaps++] = s->old_ends[i];
        }
        s->falls = s->falls || shift < last;
        s->first = s->first == UINT16_MAX && shift != last ? i : s->first;
        last = shift;
    }
    for (uint32_t i = 0; i < LANES; i++)
        s->ends[m->n + i] = s->old_ends[m->n + i] = (uint16_t)s->new_upper;
    s->run_ends[s->ngaps] = (uint16_t)s->new_upper; /* by move_tuples */
}

/* n tuples, of which number `first` is the first that moves: a number that is known is proved much faster. */
static void move(uint32_t n, uint32_t first)
{
    uint32_t at = any_place();
    scan s;
    moved m = any_tuples(n, LEAST, MOST);

    put_scan(&s, &m);
    assume((s.ngaps != 0 || s.falls) && !(s.falls && presorted(&s)));
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
