/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

enum {
    LP_NORMAL = 1,
    LP_REDIRECT = 2,

    TUPLE_HEADER = 23,
    T_XMAX = 4,
    T_CTID_BLOCK_HIGH = 12,
    T_CTID_BLOCK_LOW = 14,
    T_CTID_OFFSET = 16,
    T_INFOMASK2 = 18,
    T_INFOMASK = 20,
    T_HOFF = 22,

    HASNULL = 0x0001,
    XMAX_EXCL_LOCK = 0x0040,
    XMAX_LOCK_ONLY = 0x0080,
    XMIN_COMMITTED = 0x0100,
    XMIN_INVALID = 0x0200,
    XMIN_FROZEN = XMIN_COMMITTED | XMIN_INVALID,
    XMAX_COMMITTED = 0x0400,
    XMAX_INVALID = 0x0800,
    XMAX_IS_MULTI = 0x1000,
    UPDATED = 0x2000,
    NATTS = 0x07ff,
    HOT_UPDATED = 0x4000,
    ONLY_TUPLE = 0x8000,

    FROZEN_XID = 2,
    FIRST_NORMAL_XID = 3,
    UNITS = BLCKSZ / 8
};

static bool before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static bool xid_is_wrong(uint32_t xid, const pgq_compaction_tuple_bounds *b)
{
    if (xid < FIRST_NORMAL_XID)
        return false;
    return (b->next_xid != 0 && !before(xid, b->next_xid)) ||
           (b->oldest_xid != 0 && before(xid, b->oldest_xid)) ||
           (b->relfrozenxid >= FIRST_NORMAL_XID && before(xid, b->relfrozenxid));
}

static bool multi_is_wrong(uint32_t multi, const pgq_compaction_tuple_bounds *b)
{
    return multi == 0 || (b->next_multi != 0 && !before(multi, b->next_multi)) ||
           (b->relminmxid != 0 && before(multi, b->relminmxid)) ||
           (b->oldest_multi != 0 && before(multi, b->oldest_multi));
}

static bool is_frozen(uint32_t infomask)
{
    return (infomask & XMIN_FROZEN) == XMIN_FROZEN;
}

static bool is_invalid(uint32_t infomask)
{
    return (infomask & XMIN_FROZEN) == XMIN_INVALID;
}

static bool is_locked_only(uint32_t infomask)
{
    return (infomask & XMAX_LOCK_ONLY) != 0 ||
           (infomask & (XMAX_IS_MULTI | XMAX_EXCL_LOCK)) == XMAX_EXCL_LOCK;
}

static bool is_hot_updated(uint32_t infomask2, uint32_t infomask)
{
    return (infomask2 & HOT_UPDATED) != 0 && (infomask & XMAX_INVALID) == 0 && !is_invalid(infomask);
}

/* The XID of its update stands in pg_multixact. */
static bool has_unknown_updater(uint32_t infomask)
{
    return (infomask & XMAX_IS_MULTI) != 0 && (infomask & XMAX_INVALID) == 0 && !is_locked_only(infomask);
}

static bool header_is_wrong(const uint8_t *tuple, uint32_t length, const pgq_compaction_tuple_bounds *b)
{
    uint32_t xmin = load32(tuple), xmax = load32(tuple + T_XMAX), mask = load16(tuple + T_INFOMASK);
    uint32_t mask2 = load16(tuple + T_INFOMASK2), hoff = tuple[T_HOFF], natts = mask2 & NATTS;
    uint32_t begins = maxalign(TUPLE_HEADER + ((mask & HASNULL) != 0 ? (natts + 7) / 8 : 0));

    if (hoff != begins || hoff > length || natts > b->natts || load16(tuple + T_CTID_OFFSET) == 0)
        return true;
    if ((mask & XMAX_COMMITTED) != 0 && (mask & XMAX_IS_MULTI) != 0)
        return true;
    if (xmax == 0 && is_hot_updated(mask2, mask))
        return true;
    if ((mask2 & ONLY_TUPLE) != 0 && (mask & UPDATED) == 0)
        return true;
    if (!is_frozen(mask) && xid_is_wrong(xmin, b))
        return true;
    if ((mask & XMAX_IS_MULTI) != 0)
        return multi_is_wrong(xmax, b);
    return (mask & XMAX_INVALID) == 0 && !is_locked_only(mask) && xid_is_wrong(xmax, b);
}

/* The block of a tuple's t_ctid. */
static uint32_t ctid_block(const uint8_t *tuple)
{
    return load16(tuple + T_CTID_BLOCK_HIGH) << 16 | load16(tuple + T_CTID_BLOCK_LOW);
}

/* Whether a tuple without xmax points to its own number in another block: so are those of a page that lies in a wrong place. */
static bool points_elsewhere(const uint8_t *tuple, uint32_t number, uint32_t block)
{
    return load32(tuple + T_XMAX) == 0 && load16(tuple + T_CTID_OFFSET) == number &&
           ctid_block(tuple) != block;
}

/* Whether two line pointers share bytes; all storage is aligned and lies in the page. */
static bool tuples_overlap(const uint8_t *page, uint32_t nline)
{
    uint64_t taken[UNITS / 64] = {0};

    for (uint32_t i = 0; i < nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i);

        if (!lp_is_used(word) || lp_len(word) == 0)
            continue;
        for (uint32_t at = lp_off(word) / 8, end = at + maxalign(lp_len(word)) / 8; at < end;) {
            uint32_t bit = at % 64, n = end - at < 64 - bit ? end - at : 64 - bit;
            uint64_t mask = (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << bit;

            if ((taken[at / 64] & mask) != 0)
                return true;
            taken[at / 64] |= mask;
            at += n;
        }
    }
    return false;
}

/* What each line pointer of a page is, while its chains are followed. */
typedef struct chains {
    uint8_t is_pointed_to[MAX_LINE_POINTERS + 1]; /* by a redirect or an update, or maybe by one */
    uint16_t heap_only[MAX_LINE_POINTERS];        /* that somebody must point to */
    uint32_t n;
} chains;

/* Whether a redirect, or the tuple at line pointer i, points to a line pointer that it may not point to. */
static bool successor_is_wrong(const uint8_t *page, const bounds *b, uint32_t i, uint32_t block, chains *c)
{
    uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i), next, next_word, mask = 0, mask2 = 0;
    const uint8_t *tuple = page + lp_off(word), *then;
    bool redirect = lp_flags(word) == LP_REDIRECT, then_heap_only;

    if (redirect)
        next = lp_off(word);
    else {
        mask = load16(tuple + T_INFOMASK);
        mask2 = load16(tuple + T_INFOMASK2);
        next = load16(tuple + T_CTID_OFFSET);
        if (ctid_block(tuple) != block || next == i + 1)
            return false;
    }
    if (next == 0 || next > b->nline)
        return redirect;
    next_word = load32(page + SIZE_OF_PAGE_HEADER + 4 * (next - 1));
    if (lp_flags(next_word) != LP_NORMAL)
        return redirect;
    then = page + lp_off(next_word);
    then_heap_only = (load16(then + T_INFOMASK2) & ONLY_TUPLE) != 0;
    if (!redirect) {
        uint32_t xmax = load32(tuple + T_XMAX), then_mask = load16(then + T_INFOMASK);

        if (has_unknown_updater(mask)) {
            c->is_pointed_to[next] |= 2;
            return false;
        }
        if (xmax == 0 || xmax != (is_frozen(then_mask) ? FROZEN_XID : load32(then)))
            return false;
    }
    if ((c->is_pointed_to[next] & 1) != 0)
        return true;
    c->is_pointed_to[next] |= 1;
    /* The bit alone: hint bits may say meanwhile that the update was aborted. */
    return (redirect || (mask2 & HOT_UPDATED) != 0) != then_heap_only;
}

/* Whether a redirect, an update or a heap-only tuple breaks a chain. Each tuple lies in the page: what points to it may look at it. */
static bool chains_are_wrong(const uint8_t *page, const bounds *b, uint32_t block, chains *c)
{
    memset(c->is_pointed_to, 0, b->nline + 1);
    for (uint32_t i = 0; i < b->nline; i++) {
        uint32_t flags = lp_flags(load32(page + SIZE_OF_PAGE_HEADER + 4 * i));

        if ((flags == LP_NORMAL || flags == LP_REDIRECT) && successor_is_wrong(page, b, i, block, c))
            return true;
    }
    for (uint32_t k = 0; k < c->n; k++)
        if (c->is_pointed_to[c->heap_only[k]] == 0)
            return true;
    return false;
}

/*
 * Whether a tuple is as most are, and has no fault: nobody updated, deleted or locked it, it points to itself, and it is
 * frozen or its xmin is one that was found right. itself: such a t_ctid, as it lies in memory.
 */
static inline bool is_plain(const uint8_t *tuple, uint32_t length, uint64_t itself, uint32_t right,
                            const pgq_compaction_tuple_bounds *ids)
{
    const uint64_t looked_at = UINT64_C(0xffffffffffff) | (uint64_t)(HOT_UPDATED | ONLY_TUPLE) << 48;
    uint64_t ctid = load32(tuple + T_CTID_BLOCK_HIGH) | (uint64_t)load32(tuple + T_CTID_OFFSET) << 32;
    uint32_t natts = (uint32_t)(ctid >> 48) & NATTS, mask = load16(tuple + T_INFOMASK), hoff = tuple[T_HOFF];
    uint32_t nulls = (natts + 7) / 8 & -(mask & HASNULL);
    uint64_t differs = ((ctid ^ itself) & looked_at) |
                       ((mask ^ XMAX_INVALID) & (XMAX_INVALID | XMAX_IS_MULTI)) |
                       (hoff ^ maxalign(TUPLE_HEADER + nulls));

    return differs == 0 && hoff <= length && natts <= ids->natts &&
           (is_frozen(mask) || load32(tuple) == right);
}

static bool page_is_suspect(const uint8_t *page, uint32_t block, const pgq_compaction_tuple_bounds *ids)
{
    const uint64_t itself = block >> 16 | (uint64_t)(block & 0xffff) << 16;
    uint32_t nstorage = 0, lowest, right = FROZEN_XID;
    bool in_order = true, any_chain = false;
    bounds b;
    chains c;

    if (!read_bounds(page, &b))
        return true;
    c.n = 0;
    lowest = b.special;
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i), off = lp_off(word), len = lp_len(word);
        uint32_t flags = lp_flags(word), mask;
        const uint8_t *tuple = page + off;

        if (!lp_is_used(word))
            continue;
        if (len == 0) {
            if (flags == LP_NORMAL)
                return true;
            any_chain |= flags == LP_REDIRECT;
            continue;
        }
        if (off < b.upper || off % 8 != 0 || off + maxalign(len) > b.special ||
            ++nstorage > MAX_HEAP_TUPLES_PER_PAGE)
            return true;
        in_order &= off + maxalign(len) <= lowest;
        lowest = off;
        if (flags != LP_NORMAL) {
            any_chain |= flags == LP_REDIRECT;
            continue;
        }
        if (len <= TUPLE_HEADER)
            return true;
        if (is_plain(tuple, len, itself | (uint64_t)(i + 1) << 32, right, ids))
            continue;
        if (header_is_wrong(tuple, len, ids) || points_elsewhere(tuple, i + 1, block))
            return true;
        mask = load16(tuple + T_INFOMASK);
        right = is_frozen(mask) ? right : load32(tuple);
        any_chain |= ctid_block(tuple) == block && load16(tuple + T_CTID_OFFSET) != i + 1;
        if ((load16(tuple + T_INFOMASK2) & ONLY_TUPLE) != 0 && !is_invalid(mask))
            c.heap_only[c.n++] = (uint16_t)(i + 1);
    }
    if (!in_order && tuples_overlap(page, b.nline))
        return true;
    return (any_chain || c.n > 0) && chains_are_wrong(page, &b, block, &c);
}

static bool is_zero(const uint8_t *page)
{
    for (uint32_t at = 0; at < BLCKSZ; at += 8) {
        uint64_t word;

        memcpy(&word, page + at, sizeof word);
        if (word != 0)
            return false;
    }
    return true;
}

size_t pgq_compaction_suspect_tuples(const void *pages, size_t n, uint32_t first_block,
                                     const pgq_compaction_tuple_bounds *ids, uint8_t suspect[])
{
    pgq_compaction_tuple_bounds known = *ids;
    size_t found = 0;

    if (known.natts == 0)
        known.natts = 1600; /* MaxHeapAttributeNumber, src/include/access/htup_details.h */
    for (size_t i = 0; i < n; i++) {
        const uint8_t *page = (const uint8_t *)pages + i * BLCKSZ;

        suspect[i] = page_is_suspect(page, first_block + (uint32_t)i, &known) && !is_zero(page);
        found += suspect[i];
    }
    return found;
}
