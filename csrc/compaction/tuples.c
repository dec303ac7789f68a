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

/* The bytes [off, off + len) of a page, in units of 8: false if one of them is taken; then they are. Both multiples of 8. */
static bool take(uint64_t taken[UNITS / 64], uint32_t off, uint32_t len)
{
    for (uint32_t at = off / 8, end = (off + len) / 8; at < end;) {
        uint32_t bit = at % 64, n = end - at < 64 - bit ? end - at : 64 - bit;
        uint64_t mask = (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << bit;

        if ((taken[at / 64] & mask) != 0)
            return false;
        taken[at / 64] |= mask;
        at += n;
    }
    return true;
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
        if ((load16(tuple + T_CTID_BLOCK_HIGH) << 16 | load16(tuple + T_CTID_BLOCK_LOW)) != block ||
            next == i + 1)
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

static bool page_is_suspect(const uint8_t *page, uint32_t block, const pgq_compaction_tuple_bounds *ids)
{
    uint64_t taken[UNITS / 64] = {0};
    bounds b;
    uint32_t nstorage = 0;
    chains c;

    if (!read_bounds(page, &b))
        return true;
    c.n = 0;
    memset(c.is_pointed_to, 0, b.nline + 1);
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i), off = lp_off(word), len = lp_len(word);
        const uint8_t *tuple = page + off;

        if (!lp_is_used(word))
            continue;
        if (len == 0) {
            if (lp_flags(word) == LP_NORMAL)
                return true;
            continue;
        }
        if (off < b.upper || off % 8 != 0 || off + maxalign(len) > b.special ||
            ++nstorage > MAX_HEAP_TUPLES_PER_PAGE)
            return true;
        if (!take(taken, off, maxalign(len)))
            return true;
        if (lp_flags(word) != LP_NORMAL)
            continue;
        if (len <= TUPLE_HEADER || header_is_wrong(tuple, len, ids) || points_elsewhere(tuple, i + 1, block))
            return true;
        if ((load16(tuple + T_INFOMASK2) & ONLY_TUPLE) != 0 && !is_invalid(load16(tuple + T_INFOMASK)))
            c.heap_only[c.n++] = (uint16_t)(i + 1);
    }
    /* Each tuple lies in the page: what points to it may look at it. */
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t flags = lp_flags(load32(page + SIZE_OF_PAGE_HEADER + 4 * i));

        if ((flags == LP_NORMAL || flags == LP_REDIRECT) && successor_is_wrong(page, &b, i, block, &c))
            return true;
    }
    for (uint32_t k = 0; k < c.n; k++)
        if (c.is_pointed_to[c.heap_only[k]] == 0)
            return true;
    return false;
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
