/* SPDX-License-Identifier: PostgreSQL */
/* libFuzzer target: any bytes, read as numbers, go to every variant; each must give what the plain definition gives. */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long done, empty;

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr, "tally: done=%llu EMPTY=%llu\n", done, empty);
}

static void judge(const pgq_toy_largest_variant *variant, const uint32_t *array, size_t n)
{
    uint32_t largest = 0, wanted = 0;
    pgq_status status = variant->fn(array, n, &largest);

    if (status.code != (n == 0 ? PGQ_TOY_EMPTY : PGQ_OK))
        abort();
    for (size_t i = 0; i < n; i++)
        wanted = array[i] > wanted ? array[i] : wanted;
    if (largest != wanted)
        abort();
    *(n == 0 ? &empty : &done) += 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = size / sizeof(uint32_t);
    uint32_t *array = malloc(n * sizeof(uint32_t) + 1); /* one byte more: an empty array is not NULL */

    if (array == NULL)
        abort();
    memcpy(array, data, n * sizeof(uint32_t));
    for (size_t v = 0; v < pgq_toy_largest_variant_count; v++)
        if (pgq_toy_largest_variants[v].supported())
            judge(&pgq_toy_largest_variants[v], array, n);
    free(array);
    return 0;
}
