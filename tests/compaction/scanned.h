/* SPDX-License-Identifier: PostgreSQL */
/*
 * A scan as a filter, for tests. Standard input: records of 2 bytes, which are ignored, and 8192 bytes page. Standard output, one
 * for each: 3 bytes of zero, 4 bytes number of integers; these, of 32 bits. If the kernel does not scan the page: none. All
 * little-endian. The file that includes this one includes its kernel first. It defines put_found, and says which integers these
 * are.
 *
 * Before the scan each byte is DIRT: what vectors leave behind the last line pointer, tuple or gap is known, too.
 */
#include <stdio.h>

enum {
    DIRT = 0xa5,
    MOST_MORE = 33 /* elements of an array that are put, beyond one for each line pointer */
};

static uint32_t found[16 + 6 * (MAX_LINE_POINTERS + MOST_MORE)];
static uint32_t n;
static scan s;

static void put(uint32_t value)
{
    found[n++] = value;
}

/* An array's first ones, of whatever type. */
#define PUT_ALL(values, count)                                                                               \
    for (uint32_t i_ = 0; i_ < (count); i_++)                                                                \
    put((values)[i_])

/* Lets the scan fill s, and puts what it finds. */
static void put_found(const uint8_t *page, const bounds *b);

int main(void)
{
    static uint8_t record[2 + BLCKSZ];

    while (fread(record, sizeof record, 1, stdin) == 1) {
        static const uint8_t zeroes[3];
        bounds b;

        n = 0;
        memset(&s, DIRT, sizeof s);
        if (read_bounds(record + 2, &b))
            put_found(record + 2, &b);
        fwrite(zeroes, sizeof zeroes, 1, stdout);
        fwrite(&n, sizeof n, 1, stdout);
        fwrite(found, sizeof found[0], n, stdout);
    }
    return 0;
}
