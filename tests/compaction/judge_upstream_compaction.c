/* SPDX-License-Identifier: PostgreSQL */
/*
 * The compaction of a tree of PostgreSQL's, as a kernel: upstream.h is what was cut out of it. What upstream does not refuse is
 * answered by ours; of a page whose tuples overlap, which no server has, so is what comes out. It works on a copy that is aligned, as
 * a server's pages are. From UPSTREAM_MAJOR 15 on it cuts line pointers off; a call that asks for the other is mended here.
 */
#include "compaction/compaction.h"

#include <stdlib.h>
#include <string.h>

#define Assert(holds)            ((void)0)
#define PG_USED_FOR_ASSERTS_ONLY __attribute__((unused))
#define ereport(level, rest)     return
#define elog(...)                return
#define unlikely(x)              __builtin_expect((x) != 0, 0)
#define likely(x)                __builtin_expect((x) != 0, 1)
#define Min(a, b)                ((a) < (b) ? (a) : (b))
#define Max(a, b)                ((a) > (b) ? (a) : (b))
#define MAXALIGN(length)         (((uint64_t)(length) + 7) & ~(uint64_t)7)
#define BLCKSZ                   8192
#define MaxHeapTuplesPerPage     291
#define SizeOfPageHeaderData     24
#define InvalidOffsetNumber      ((OffsetNumber)0)
#define FirstOffsetNumber        ((OffsetNumber)1)
#define OffsetNumberNext(n)      ((OffsetNumber)(1 + (n)))
#define LP_UNUSED                0
#define ItemIdIsUsed(lp)         ((lp)->lp_flags != LP_UNUSED)
#define ItemIdHasStorage(lp)     ((lp)->lp_len != 0)
#define ItemIdGetOffset(lp)      ((lp)->lp_off)
#define ItemIdGetLength(lp)      ((lp)->lp_len)
#define ItemIdSetUnused(lp)      ((lp)->lp_flags = LP_UNUSED, (lp)->lp_off = 0, (lp)->lp_len = 0)
#define PageGetItemId(page, n)   (&((PageHeader)(page))->pd_linp[(n)-1])
#define PageGetMaxOffsetNumber(page)                                                                         \
    (((PageHeader)(page))->pd_lower <= SizeOfPageHeaderData                                                  \
         ? 0                                                                                                 \
         : (((PageHeader)(page))->pd_lower - SizeOfPageHeaderData) / sizeof(ItemIdData))
#define PageHasFreeLinePointers(page)      (((PageHeader)(page))->pd_flags & 1)
#define PageSetHasFreeLinePointers(page)   (((PageHeader)(page))->pd_flags |= 1)
#define PageClearHasFreeLinePointers(page) (((PageHeader)(page))->pd_flags &= (uint16_t)~1)

typedef int16_t int16;
typedef uint16_t uint16, OffsetNumber, LocationIndex;
typedef int32_t int32;
typedef uint32_t uint32;
typedef size_t Size;
typedef int Offset; /* as bufpage.c's own, of 13; later ones have it from c.h */
typedef char *Page;
typedef struct ItemIdData {
    unsigned lp_off : 15, lp_flags : 2, lp_len : 15;
} ItemIdData, *ItemId;
typedef struct PageHeaderData {
    uint64_t pd_lsn;
    uint16_t pd_checksum, pd_flags, pd_lower, pd_upper, pd_special, pd_pagesize_version;
    uint32_t pd_prune_xid;
    ItemIdData pd_linp[];
} PageHeaderData, *PageHeader;
typedef union PGAlignedBlock {
    char data[BLCKSZ];
    double force_align_d;
    int64_t force_align_i64;
} PGAlignedBlock;
typedef struct itemIdSortData *itemIdSort;
typedef struct itemIdCompactData *itemIdCompact;

#include "upstream.h"

pgq_status pgq_compaction_pg13(void *page, bool truncate);
pgq_status pgq_compaction_pg14(void *page, bool truncate);

static bool overlap(Page page)
{
    bool taken[BLCKSZ / 8] = {false};

    for (size_t n = 1; n <= PageGetMaxOffsetNumber(page); n++) {
        const ItemIdData *lp = PageGetItemId(page, n);
        unsigned end = ItemIdIsUsed(lp) && ItemIdHasStorage(lp) ? (lp->lp_off + lp->lp_len + 7u) / 8 : 0;

        for (unsigned at = lp->lp_off / 8; at < end; at++) {
            if (taken[at])
                return true;
            taken[at] = true;
        }
    }
    return false;
}

pgq_status candidate(void *page, bool truncate)
{
    _Alignas(8) char before[BLCKSZ], after[BLCKSZ];

    if (page == NULL)
        return (pgq_status){PGQ_NULL, 0};
    memcpy(before, page, BLCKSZ);
    memcpy(after, page, BLCKSZ);
    pgq_status status = (UPSTREAM_MAJOR < 14 ? pgq_compaction_pg13 : pgq_compaction_pg14)(after, truncate);
    if (status.code != PGQ_OK)
        return status;
    if (!overlap(before)) {
        const uint16_t lower = ((PageHeader)before)->pd_lower;
        memcpy(after, before, BLCKSZ);
        UPSTREAM(after);
        if (UPSTREAM_MAJOR >= 15 && !truncate && lower != ((PageHeader)after)->pd_lower) {
            ((PageHeader)after)->pd_lower = lower;
            PageSetHasFreeLinePointers(after);
        }
        if (UPSTREAM_MAJOR < 15 && truncate) {
            bool any = false;
            while (PageGetMaxOffsetNumber(after) > 0 &&
                   !ItemIdIsUsed(PageGetItemId(after, PageGetMaxOffsetNumber(after))))
                ((PageHeader)after)->pd_lower -= sizeof(ItemIdData);
            for (size_t n = 1; n <= PageGetMaxOffsetNumber(after); n++)
                any |= !ItemIdIsUsed(PageGetItemId(after, n));
            if (!any)
                PageClearHasFreeLinePointers(after);
        }
    }
    memcpy(page, after, BLCKSZ);
    return status;
}
