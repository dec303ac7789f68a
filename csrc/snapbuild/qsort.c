/* SPDX-License-Identifier: PostgreSQL */
#include "snapbuild/qsort.h"

#include <stdbool.h>

#define ELEMENT uint32_t
#include "common/quicksort_template.h"

int pgq_snapbuild_xid_comparator(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void pgq_snapbuild_qsort32(uint32_t *a, size_t n, int (*compare)(const void *, const void *))
{
    quicksort(a, n, compare);
}
