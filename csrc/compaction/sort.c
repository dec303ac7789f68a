/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

#define ELEMENT item
#include "common/quicksort_template.h"

void pgq_compaction_sort_items(item *items, uint32_t n, int (*compare)(const void *, const void *))
{
    quicksort(items, n, compare);
    HOLDS(is_sorted(items, n, compare));
}
