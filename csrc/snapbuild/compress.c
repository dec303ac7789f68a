/* SPDX-License-Identifier: PostgreSQL */
#include "snapbuild/known_assigned.h"

#include <string.h>

/*@ // How many of the flags of [from, to) are set.
    logic integer live_in{L}(bool *valid, integer from, integer to) =
        to <= from ? 0 : live_in(valid, from, to - 1) + (valid[to - 1] ? 1 : 0);

    // Of the XIDs of [from, to) in L, those with a flag lie in front in M, in their order.
    predicate to_front{L, M}(uint32_t *xids, bool *valid, integer from, integer to) =
        \forall integer i; from <= i < to && \at(valid[i], L) ==>
            \at(xids[\at(live_in(valid, from, i), L)], M) == \at(xids[i], L);
*/

/* The loop of src/backend/storage/ipc/procarray.c, KnownAssignedXidsCompress. */
/*@ requires \valid(xids + (0 .. head - 1)) && \valid(valid + (0 .. head - 1));
    requires \separated(xids + (0 .. head - 1), valid + (0 .. head - 1));
    assigns xids[0 .. head - tail - 1], valid[0 .. head - tail - 1];
    ensures count: \result == live_in{Pre}(valid, tail, head);
    ensures order: to_front{Pre, Post}(xids, valid, tail, head);
    ensures flags: \forall integer i; 0 <= i < \result ==> valid[i]; */
size_t pgq_snapbuild_known_assigned_upstream(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t to = 0;

    /*@ loop assigns i, to, xids[0 .. head - tail - 1], valid[0 .. head - tail - 1];
        loop invariant within: tail <= i && (i <= head || i == tail) && 0 <= to <= i - tail;
        loop invariant count: to == live_in{Pre}(valid, tail, i);
        loop invariant below: \forall integer k; tail <= k < i && \at(valid[k], Pre) ==>
            0 <= live_in{Pre}(valid, tail, k) < to;
        loop invariant order: to_front{Pre, Here}(xids, valid, tail, i);
        loop invariant flags: \forall integer k; 0 <= k < to ==> valid[k];
        loop invariant ahead: \forall integer k; i <= k < head ==>
            xids[k] == \at(xids[k], Pre) && valid[k] == \at(valid[k], Pre);
        loop variant head - i; */
    for (size_t i = tail; i < head; i++) {
        if (valid[i]) {
            xids[to] = xids[i];
            valid[to] = true;
            to++;
        }
    }
    return to;
}

/* Our variant: the same without a branch on the data. */
size_t pgq_snapbuild_known_assigned_scalar(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = head > tail ? slide_live(xids, xids + tail, valid + tail, head - tail) : 0;

    if (n > 0)
        memset(valid, true, n);
    return n;
}
