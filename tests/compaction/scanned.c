/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the scan of `scalar` finds on a page, as a filter, for tests. Standard input: records of 2 bytes, which are ignored, and
 * 8192 bytes page. Standard output, one for each: 3 bytes of zero, 4 bytes number of integers; these, of 32 bits: nkept,
 * nitems, nused, ngaps, total, lengths, refused, unsorted, changed; words from the nkept-th to the last; tuples; gaps. If the
 * header is refused: none. All little-endian.
 */
#include "compaction/scalar.c"

#include <stdio.h>

static uint32_t found[9 + 3 * MAX_LINE_POINTERS];
static uint32_t n;

static void put(uint32_t value)
{
    found[n++] = value;
}

int main(void)
{
    static uint8_t record[2 + BLCKSZ];

    while (fread(record, sizeof record, 1, stdin) == 1) {
        static const uint8_t zeroes[3];
        bounds b;

        n = 0;
        if (read_bounds(record + 2, &b)) {
            scan s;

            scan_line_pointers(record + 2, &b, &s);
            put(s.nkept);
            put(s.nitems);
            put(s.nused);
            put(s.ngaps);
            put(s.total);
            put(s.lengths);
            put(s.refused);
            put(s.unsorted);
            put(s.changed);
            for (uint32_t i = s.nkept; i < b.nline; i++)
                put(s.words[i]);
            for (uint32_t i = 0; i < s.nitems; i++)
                put(s.tuples[i]);
            for (uint32_t i = 0; i < s.ngaps; i++)
                put(s.gaps[i]);
        }
        fwrite(zeroes, sizeof zeroes, 1, stdout);
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(found, sizeof found[0], n, stdout);
    }
    return 0;
}
