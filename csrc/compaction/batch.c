/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

enum { CACHE_LINE = 64 };

/* Asks for the whole page: which part of it is needed stands in its header, and reading that would wait for it. */
static void prefetch_page(const void *page)
{
    const char *p = page;

    for (int line = 0; line < BLCKSZ / CACHE_LINE; line++)
        __builtin_prefetch(p + line * CACHE_LINE, 1, 3);
}

size_t pgq_compaction_batch(pgq_compaction_fn fn, void *const pages[], size_t n, bool truncate,
                            pgq_status status[])
{
    size_t refused = 0;

    if (fn == NULL || pages == NULL || status == NULL)
        return n;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && pages[i + 1] != NULL)
            prefetch_page(pages[i + 1]);
        status[i] = fn(pages[i], truncate);
        refused += status[i].code != PGQ_OK;
    }
    return refused;
}

size_t pgq_page_repair_fragmentation_batch(void *const pages[], size_t n, bool truncate, pgq_status status[])
{
    const pgq_compaction_variant *variant = pgq_compaction_dispatched();

    if (variant != NULL)
        return pgq_compaction_batch(variant->fn, pages, n, truncate, status);
    for (size_t i = 0; status != NULL && i < n; i++)
        status[i] = (pgq_status){PGQ_VARIANT, 0};
    return n;
}
