/* SPDX-License-Identifier: PostgreSQL */
/*
 * Gives a fuzz target (tests/STEM/fuzz.c) random inputs where there is no libFuzzer: PROGRAM NUMBER. The inputs are the
 * same on each machine. As in tests/runners/fuzz.py most are short; half of them are an earlier one with a few bytes changed,
 * because a target does little with bytes that fit nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8193, SHORT = 400, KEPT = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 19;

/* splitmix64 */
static uint64_t below(uint64_t n)
{
    uint64_t x = state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % n;
}

static uint8_t kept[KEPT][LONGEST];
static size_t sizes[KEPT];

/* What a sound input has often: few different bytes, and long runs of the same. */
static void fill(uint8_t *bytes, size_t size)
{
    uint64_t different = below(2) ? 256 : 1 + below(8);

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)below(different);
}

/* In memory of its own, so that a read beyond it may be seen. */
static void judge(const uint8_t *bytes, size_t size)
{
    uint8_t *input = malloc(size);

    if (input == NULL)
        exit(3);
    memcpy(input, bytes, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

int main(int argc, char **argv)
{
    unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

    for (unsigned long i = 0; i < n; i++) {
        unsigned at = (unsigned)below(KEPT);

        if (i < KEPT || below(2)) {
            sizes[at] = below(4) ? 4 + below(SHORT) : LONGEST;
            fill(kept[at], sizes[at]);
        } else {
            for (uint64_t changes = 1 + below(4); changes > 0 && sizes[at] > 0; changes--)
                kept[at][below(sizes[at])] = (uint8_t)below(256);
        }
        judge(kept[at], sizes[at]);
    }
    return n == 0;
}
