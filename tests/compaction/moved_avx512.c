/* SPDX-License-Identifier: PostgreSQL */
/*
 * What `avx512` does with its scans (scanned.h): the way that it takes for the tuples, and up to two numbers with it, as `way` and
 * tell have them; then twice, without truncation and with it, of the page as the kernel leaves it if no tuple moves: all line
 * pointers, pd_lower, pd_upper, pd_flags. If the kernel leaves the page to scalar: none.
 *
 * moved_avx512.h has the text of the kernel's functions that choose (rules.mk). Here they call tell where in the kernel they call
 * what moves tuples.
 */
#include "compaction/avx512vbmi2.c"

#include "scanned.h"

typedef enum {
    NOTHING,
    PERMUTE,
    RUNS,
    SLIDE,
    CLIMB,
    WINDOWS,
    SQUEEZE,
    SLOTS,
    BY_DEPTH,
    WHOLE_LINES,
    EACH
} way;

static uint32_t told[3];
static bool left_to_scalar;

static void tell(way taken, uint32_t first, uint32_t second)
{
    told[0] = taken;
    told[1] = first;
    told[2] = second;
}

static pgq_status leave_to_scalar(void)
{
    left_to_scalar = true;
    return accepted();
}

#define permute_few           permute_few_told
#define climb_in_pieces       climb_in_pieces_told
#define gather_by_windows     gather_by_windows_told
#define move_tuples           move_tuples_told
#define pgq_compaction_avx512 kernel_told

#define permute(page, s, window, n)             ((void)(page), tell(PERMUTE, window, n))
#define move_runs(page, s)                      ((void)(page), tell(RUNS, 0, 0))
#define slide(page, s, window)                  ((void)(page), tell(SLIDE, window, 0))
#define climb(page, s, pieces)                  ((void)(page), tell(CLIMB, pieces, 0))
#define gather(scratch, page, s, window)        ((void)(scratch), (void)(page), tell(WINDOWS, window, 0))
#define squeeze(page, s)                        ((void)(page), tell(SQUEEZE, 0, 0))
#define permute_slots(slots, copy)              tell(SLOTS, 0, 0)
#define gather_by_list(scratch, page, s)        tell(BY_DEPTH, 0, 0)
#define move_lines(page, b, s)                  ((void)(page), tell(WHOLE_LINES, 0, 0))
#define gather_each(scratch, page, s)           tell(EACH, 0, 0)
#define move_by_scratch(page, s, gather_tuples) gather_tuples(NULL, page, s)
#define pgq_compaction_scalar(page, truncate)   leave_to_scalar()

pgq_status kernel_told(void *page_, bool truncate);
#include "moved_avx512.h"

static void put_found(const uint8_t *page, const bounds *b)
{
    static uint8_t after[BLCKSZ] __attribute__((aligned(64)));

    for (int truncate = 0; truncate <= 1; truncate++) {
        memcpy(after, page, BLCKSZ);
        tell(NOTHING, 0, 0);
        left_to_scalar = false;
        kernel_told(after, truncate);
        if (left_to_scalar)
            return;
        if (!truncate)
            PUT_ALL(told, 3);
        for (uint32_t i = 0; i < b->nline; i++)
            put(load32(after + SIZE_OF_PAGE_HEADER + 4 * i));
        put(load16(after + PD_LOWER));
        put(load16(after + PD_UPPER));
        put(load16(after + PD_FLAGS));
    }
}
