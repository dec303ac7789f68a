/* SPDX-License-Identifier: PostgreSQL */
/*
 * A scan as a filter, for tests. Standard input: records of 2 bytes, which are ignored, and 8192 bytes page. Standard output, one
 * for each: 3 bytes of zero, 4 bytes number of integers; these, of 32 bits. If the kernel does not scan the page: none. All
 * little-endian. The file that includes this one includes its kernel first. It defines put_found, and says there which integers
 * these are.
 */
#include <stdio.h>

enum {
    DIRT = 0xa5,   /* each byte of what a scan by vectors fills, before it */
    MOST_MORE = 33 /* elements of an array that are put, beyond one for each line pointer */
};

static uint32_t found[16 + 6 * (MAX_LINE_POINTERS + MOST_MORE)];
static uint32_t n;

static void put(uint32_t value)
{
    found[n++] = value;
}

/* An array's first ones, of whatever type. */
#define PUT_ALL(values, count)                                                                               \
    for (uint32_t i_ = 0; i_ < (count); i_++)                                                                \
    put((values)[i_])

/* What the scan finds on a page. */
static void put_found(const uint8_t *page);

int main(void)
{
    static uint8_t record[2 + BLCKSZ];

    while (fread(record, sizeof record, 1, stdin) == 1) {
        static const uint8_t zeroes[3];

        n = 0;
        put_found(record + 2);
        fwrite(zeroes, sizeof zeroes, 1, stdout);
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(found, sizeof found[0], n, stdout);
    }
    return 0;
}
