/* SPDX-License-Identifier: PostgreSQL */
/*
 * KnownAssignedXids: src/backend/storage/ipc/procarray.c, KnownAssignedXidsAdd, Search, Remove, RemoveTree,
 * RemovePreceding, Compress and GetAndSetXmin, of 16 to 18. It differs in that errors are returned, that the clock and
 * the prepared transactions are arguments, and that the compressing loop is a table of variants.
 */
#include "snapbuild/known_assigned.h"

#include "common/holds.h"

enum {
    COMPRESS_FREQUENCY = 128,     /* KAX_COMPRESS_FREQUENCY, in transactions */
    COMPRESS_IDLE_INTERVAL = 1000 /* KAX_COMPRESS_IDLE_INTERVAL, in ms */
};

/*
 * Readers may run while the array grows: all entries below the head that they load have been written. So the load acquires and
 * the store releases (spec/snapbuild/Litmus.tla).
 */
static size_t head_acquire(const pgq_snapbuild_known_assigned *known)
{
    return __atomic_load_n(&known->head, __ATOMIC_ACQUIRE);
}

static void head_release(pgq_snapbuild_known_assigned *known, size_t head)
{
    __atomic_store_n(&known->head, head, __ATOMIC_RELEASE);
}

/* What every function checks first. Of the fields that an append changes it reads only the head. */
static pgq_code fault(const pgq_snapbuild_known_assigned *known)
{
    size_t head;

    if (known == NULL || ((known->xids == NULL || known->valid == NULL) && known->capacity > 0))
        return PGQ_NULL;
    head = head_acquire(known);
    if (known->capacity > XCNT_MAX || head > known->capacity || known->tail > head)
        return PGQ_SNAPBUILD_CAPACITY;
    return PGQ_OK;
}

pgq_status pgq_snapbuild_known_assigned_check(const pgq_snapbuild_known_assigned *known)
{
    pgq_code code = fault(known);

    if (code == PGQ_OK && known->num > known->head - known->tail)
        code = PGQ_SNAPBUILD_CAPACITY;
    if (code != PGQ_OK)
        return refused(code, 0);
    for (size_t i = known->tail; i < known->head; i++)
        if (!xid_is_normal(known->xids[i]))
            return refused(PGQ_SNAPBUILD_XID_PERMANENT, i + 1);
    for (size_t i = known->tail + 1; i < known->head; i++)
        if (!xid_normal_precedes(known->xids[i - 1], known->xids[i]))
            return refused(known->xids[i - 1] == known->xids[i] ? PGQ_SNAPBUILD_DUPLICATE
                                                                : PGQ_SNAPBUILD_UNSORTED,
                           i + 1);
    return accepted();
}

/* Was `then` at least `ms` before now? The two may lie farther apart than an int64_t can say. */
static bool is_ago(int64_t then, int64_t now, uint64_t ms)
{
    return now >= then && (uint64_t)now - (uint64_t)then >= ms;
}

static bool worth_while(pgq_snapbuild_known_assigned *known, pgq_snapbuild_compress_reason reason,
                        int64_t now)
{
    size_t span = known->head - known->tail;

    if (reason == PGQ_SNAPBUILD_COMPRESS_NO_SPACE)
        return true;
    if (span == known->num)
        return false;
    switch (reason) {
    case PGQ_SNAPBUILD_COMPRESS_TRANSACTION_END:
        return known->transaction_ends++ % COMPRESS_FREQUENCY == 0 && span >= 2 * known->num;
    case PGQ_SNAPBUILD_COMPRESS_STARTUP_PROCESS_IDLE:
        return known->last_compress == 0 || is_ago(known->last_compress, now, COMPRESS_IDLE_INTERVAL);
    case PGQ_SNAPBUILD_COMPRESS_NO_SPACE:
    case PGQ_SNAPBUILD_COMPRESS_PRUNE:
        break;
    }
    return true;
}

static const pgq_snapbuild_known_assigned_variant *variant_of(const pgq_snapbuild_known_assigned *known)
{
    return known->variant != NULL ? known->variant : pgq_snapbuild_known_assigned_dispatched();
}

pgq_status pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                 pgq_snapbuild_compress_reason reason, int64_t now,
                                                 bool *done)
{
    pgq_code code = fault(known);
    const pgq_snapbuild_known_assigned_variant *variant;
    bool worth;

    if (code != PGQ_OK)
        return refused(code, 0);
    variant = variant_of(known);
    if (variant == NULL)
        return refused(PGQ_VARIANT, 0);
    worth = worth_while(known, reason, now);
    if (worth) {
        size_t head = variant->fn(known->xids, known->valid, known->tail, known->head);

        HOLDS(head <= known->head - known->tail);
        known->tail = 0;
        head_release(known, head);
        known->last_compress = now;
    }
    if (done != NULL)
        *done = worth;
    return accepted();
}

/* What a function checks first that removes and then compresses: so that a refusal comes before the first removal. */
static pgq_code fault_of_removing(const pgq_snapbuild_known_assigned *known, const uint32_t xids[], size_t n)
{
    pgq_code code = fault(known);

    if (code == PGQ_OK && xids == NULL && n > 0)
        code = PGQ_NULL;
    if (code == PGQ_OK && variant_of(known) == NULL)
        code = PGQ_VARIANT;
    return code;
}

/* How many XIDs [from_xid, to_xid] has, the permanent ones at the wrap left out. */
static size_t distance(uint32_t from_xid, uint32_t to_xid)
{
    return to_xid >= from_xid ? (size_t)(to_xid - from_xid) + 1
                              : (size_t)(uint32_t)(to_xid - from_xid) + 1 - FIRST_NORMAL_XID;
}

pgq_status pgq_snapbuild_known_assigned_add(pgq_snapbuild_known_assigned *known, uint32_t from_xid,
                                            uint32_t to_xid, int64_t now)
{
    pgq_code code = fault(known);
    size_t n, head;

    if (code != PGQ_OK)
        return refused(code, 0);
    if (!xid_is_normal(from_xid) || !xid_is_normal(to_xid))
        return refused(PGQ_SNAPBUILD_XID_PERMANENT, xid_is_normal(from_xid) ? 2 : 1);
    if (xid_normal_precedes(to_xid, from_xid))
        return refused(PGQ_SNAPBUILD_UNSORTED, 2);
    if (known->head > known->tail) {
        uint32_t last = known->xids[known->head - 1];

        if (last == from_xid)
            return refused(PGQ_SNAPBUILD_DUPLICATE, 1);
        if (!xid_normal_precedes(last, from_xid))
            return refused(PGQ_SNAPBUILD_UNSORTED, 1);
    }
    n = distance(from_xid, to_xid);
    if (n > known->capacity - known->head) {
        pgq_status status =
            pgq_snapbuild_known_assigned_compress(known, PGQ_SNAPBUILD_COMPRESS_NO_SPACE, now, NULL);

        if (status.code != PGQ_OK)
            return status;
        if (n > known->capacity - known->head)
            return refused(PGQ_SNAPBUILD_CAPACITY, 0);
    }
    head = known->head;
    for (size_t i = 0; i < n; i++) {
        known->xids[head + i] = from_xid;
        known->valid[head + i] = true;
        from_xid = xid_advance(from_xid);
    }
    known->num += n;
    head_release(known, head + n);
    return accepted();
}

/* The place of xid; head if there is none. Cleared entries keep their XID, so all entries are in order. */
static size_t find(const pgq_snapbuild_known_assigned *known, size_t head, uint32_t xid)
{
    size_t first = known->tail, last = head;

    /* Within half of the ring. */
    HOLDS(last - first <= 1 || xid_precedes(known->xids[first], known->xids[last - 1]));
    while (first < last) {
        size_t middle = first + (last - first) / 2;

        if (xid_precedes(known->xids[middle], xid))
            first = middle + 1;
        else
            last = middle;
    }
    return first < head && known->xids[first] == xid ? first : head;
}

bool pgq_snapbuild_known_assigned_search(const pgq_snapbuild_known_assigned *known, uint32_t xid)
{
    size_t head, at;

    if (fault(known) != PGQ_OK)
        return false;
    head = head_acquire(known);
    at = find(known, head, xid);
    return at < head && known->valid[at];
}

/* The tail moves past all cleared entries; an empty array starts again at 0. */
static void advance_tail(pgq_snapbuild_known_assigned *known)
{
    while (known->tail < known->head && !known->valid[known->tail])
        known->tail++;
    if (known->tail == known->head) {
        HOLDS(known->num == 0); /* no XID is left behind */
        known->tail = 0;
        head_release(known, 0);
    }
}

bool pgq_snapbuild_known_assigned_remove(pgq_snapbuild_known_assigned *known, uint32_t xid)
{
    size_t at;

    if (fault(known) != PGQ_OK)
        return false;
    at = find(known, known->head, xid);
    if (at == known->head || !known->valid[at])
        return false;
    HOLDS(known->num > 0);
    known->valid[at] = false;
    known->num--;
    if (at == known->tail)
        advance_tail(known);
    return true;
}

pgq_status pgq_snapbuild_known_assigned_remove_tree(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                    const uint32_t subxids[], size_t n, int64_t now)
{
    pgq_code code = fault_of_removing(known, subxids, n);

    if (code != PGQ_OK)
        return refused(code, 0);
    pgq_snapbuild_known_assigned_remove(known, xid);
    for (size_t i = 0; i < n; i++)
        pgq_snapbuild_known_assigned_remove(known, subxids[i]);
    return pgq_snapbuild_known_assigned_compress(known, PGQ_SNAPBUILD_COMPRESS_TRANSACTION_END, now, NULL);
}

static bool is_among(uint32_t xid, const uint32_t xids[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (xids[i] == xid)
            return true;
    return false;
}

pgq_status pgq_snapbuild_known_assigned_remove_preceding(pgq_snapbuild_known_assigned *known, uint32_t xid,
                                                         const uint32_t prepared[], size_t n, int64_t now)
{
    pgq_code code = fault_of_removing(known, prepared, n);

    if (code != PGQ_OK)
        return refused(code, 0);
    if (xid == 0) {
        known->num = known->tail = 0;
        head_release(known, 0);
        return accepted();
    }
    for (size_t i = known->tail; i < known->head; i++) {
        if (!known->valid[i])
            continue;
        if (!xid_precedes(known->xids[i], xid))
            break;
        if (!is_among(known->xids[i], prepared, n)) {
            known->valid[i] = false;
            known->num--;
        }
    }
    advance_tail(known);
    return pgq_snapbuild_known_assigned_compress(known, PGQ_SNAPBUILD_COMPRESS_PRUNE, now, NULL);
}

pgq_status pgq_snapbuild_known_assigned_get(const pgq_snapbuild_known_assigned *known, uint32_t xmax,
                                            uint32_t xarray[], size_t space, size_t *n)
{
    pgq_code code = fault(known);
    size_t head, count = 0;

    if (code == PGQ_OK && (n == NULL || (xarray == NULL && space > 0)))
        code = PGQ_NULL;
    if (code != PGQ_OK)
        return refused(code, 0);
    head = head_acquire(known);
    *n = 0;
    for (size_t i = known->tail; i < head; i++) {
        if (!known->valid[i])
            continue;
        if (xmax != 0 && !xid_precedes(known->xids[i], xmax))
            break;
        if (count == space) {
            *n = count;
            return refused(PGQ_SNAPBUILD_CAPACITY, 0);
        }
        xarray[count++] = known->xids[i];
    }
    *n = count;
    return accepted();
}
