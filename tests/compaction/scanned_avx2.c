/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `avx2` finds on a page, as a filter, for tests. Standard input: records of 2 bytes, which are ignored, and
 * 8192 bytes page. Standard output, one for each: 3 bytes of zero, 4 bytes number of integers; these, of 32 bits: nitems, nused,
 * nline_left, total, longest, ngaps, first, out_of_bounds, unsorted, overlapping; words, and as many more as a round of the
 * loop stores; tuples from pd_special on, and as many more; gaps, and as many more as a vector has. If the kernel does not scan
 * the page: none. All little-endian.
 *
 * Before the scan each word is DIRT: what vectors leave behind the last line pointer, tuple and gap is known, too.
 */
#include "compaction/avx2.c"

#include <stdio.h>

enum { DIRT = 0xa5 }; /* each byte */

static uint32_t found[10 + 3 * (MAX_LINE_POINTERS + LANES + 1)];
static uint32_t n;

static void put(uint32_t value)
{
    found[n++] = value;
}

static void put_all(const uint32_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put(values[i]);
}

int main(void)
{
    static uint8_t record[2 + BLCKSZ];
    static scan s;

    while (fread(record, sizeof record, 1, stdin) == 1) {
        static const uint8_t zeroes[3];
        const uint8_t *page = record + 2;
        bounds b;

        n = 0;
        if (read_bounds(page, &b) && b.lower + 4 * LANES <= BLCKSZ) {
            memset(&s, DIRT, sizeof s);
            if (b.nline <= LANES)
                scan_line_pointers(page, &b, &s, true);
            else
                scan_line_pointers(page, &b, &s, false);
            put(s.nitems);
            put(s.nused);
            put(s.nline_left);
            put(s.total);
            put(s.longest);
            put(s.ngaps);
            put(s.first);
            put(s.out_of_bounds);
            put(s.unsorted);
            put(s.overlapping);
            put_all(s.words, b.nline + LANES);
            put_all(s.tuples, 1 + s.nitems + LANES);
            put_all(s.gaps, s.ngaps + HALF);
        }
        fwrite(zeroes, sizeof zeroes, 1, stdout);
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(found, sizeof found[0], n, stdout);
    }
    return 0;
}
