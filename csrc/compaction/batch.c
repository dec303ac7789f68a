/* SPDX-License-Identifier: PostgreSQL */
#include "common/cpu.h"
#include "compaction/page.h"

enum {
    CACHE_LINE = 64,
    MEMORY_PAGE = 4096,
    ALL_LINES = MEMORY_PAGE / CACHE_LINE,

    /* After so many lines the hardware's prefetcher fetches the rest of the memory page by itself. */
    FIRST_LINES = 16,

    /*
     * If the next page lies elsewhere, Intel gets no more than these: on Sapphire Rapids a batch with all lines took up to
     * a third longer. Other CPUs get all lines.
     */
    FIRST_LINES_INTEL = 8
};

/*
 * Prefetches the first `lines` cache lines of each of the page's memory pages into the second level of the cache. The first
 * level's queue of misses is so short that the CPU would wait. It is always inlined: gcc sees a function that only
 * prefetches as one without effects, and drops the call. `make lint-objects` looks for the instruction.
 */
static inline __attribute__((always_inline)) void prefetch(const uint8_t *page, int lines)
{
    for (int start = 0; start < BLCKSZ; start += MEMORY_PAGE)
        for (int line = 0; line < lines; line++)
            __builtin_prefetch(page + start + line * CACHE_LINE, 0, 2);
}

/*
 * Reads one byte of each cache line that the kernel will use, by rising address: the hardware's prefetcher follows that,
 * but not the orders in which kernels read.
 */
static void read_upwards(const uint8_t *page)
{
    uint32_t lower = load16(page + PD_LOWER), upper = load16(page + PD_UPPER);

    for (uint32_t at = 0; at < BLCKSZ; at += CACHE_LINE)
        if (at < lower || at + CACHE_LINE > upper)
            (void)*(const volatile uint8_t *)(page + at);
}

size_t pgq_compaction_batch(pgq_compaction_fn fn, void *const pages[], size_t n, bool truncate,
                            pgq_status status[])
{
    size_t refused = 0;
    int elsewhere = pgq_cpu_is_intel() ? FIRST_LINES_INTEL : ALL_LINES;

    if (fn == NULL || pages == NULL || status == NULL)
        return n;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *page = pages[i], *next = i + 1 < n ? pages[i + 1] : NULL;

        if (page != NULL)
            read_upwards(page);
        if (next != NULL)
            prefetch(next, (uintptr_t)next - (uintptr_t)page == BLCKSZ ? FIRST_LINES : elsewhere);
        status[i] = fn(pages[i], truncate);
        refused += status[i].code != PGQ_OK;
    }
    return refused;
}

size_t pgq_compaction_repair_fragmentation_batch(void *const pages[], size_t n, bool truncate,
                                                 pgq_status status[])
{
    const pgq_compaction_variant *variant = pgq_compaction_dispatched();

    if (variant != NULL)
        return pgq_compaction_batch(variant->fn, pages, n, truncate, status);
    for (size_t i = 0; pages != NULL && status != NULL && i < n; i++)
        status[i] = refused(PGQ_VARIANT, 0);
    return n;
}
