/* SPDX-License-Identifier: PostgreSQL */
/* The variants of the kind known_assigned; pgquern.h has the contract. */
#ifndef PGQUERN_SNAPBUILD_KNOWN_ASSIGNED_H
#define PGQUERN_SNAPBUILD_KNOWN_ASSIGNED_H

#include "snapbuild/xid.h"

/* The variant of this kind to run; NULL if PGQUERN_VARIANT cannot be followed. */
const pgq_snapbuild_known_assigned_variant *pgq_snapbuild_known_assigned_dispatched(void);

size_t pgq_snapbuild_known_assigned_upstream(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_scalar(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_avx2(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_avx512(uint32_t xids[], bool valid[], size_t tail, size_t head);
size_t pgq_snapbuild_known_assigned_neon(uint32_t xids[], bool valid[], size_t tail, size_t head);

/*@ // How many of the first n flags are set.
    logic integer live{L}(bool *valid, integer n) = n <= 0 ? 0 : live(valid, n - 1) + (valid[n - 1] ? 1 : 0);

    // Of the first n XIDs at `from` in L, those with a flag lie at `to` in M, in their order.
    predicate packed{L, M}(uint32_t *to, uint32_t *from, bool *valid, integer n) =
        \forall integer i; 0 <= i < n && \at(valid[i], L) ==>
            \at(to[\at(live(valid, i), L)], M) == \at(from[i], L);
*/

/*
 * Moves the live XIDs of from[0 .. n) to to[0 ..), without a branch on the data, and returns their number. `to` is `from`,
 * or lies below it. The caller sets the flags of the moved XIDs after all flags have been read.
 */
/*@ requires \base_addr(to) == \base_addr(from) && to <= from && \valid(to + (0 .. from - to + n - 1));
    requires \valid_read(valid + (0 .. n - 1)) && \separated(to + (0 .. from - to + n - 1), valid + (0 .. n - 1));
    assigns to[0 .. n - 1];
    ensures count: \result == live{Pre}(valid, n);
    ensures order: packed{Pre, Post}(to, from, valid, n); */
static inline size_t slide_live(uint32_t *to, const uint32_t *from, const bool *valid, size_t n)
{
    size_t kept = 0;

    /*@ loop assigns i, kept, to[0 .. n - 1];
        loop invariant within: 0 <= kept <= i <= n;
        loop invariant count: kept == live{Pre}(valid, i);
        loop invariant below: \forall integer k; 0 <= k < i && valid[k] ==> 0 <= live{Pre}(valid, k) < kept;
        loop invariant order: packed{Pre, Here}(to, from, valid, i);
        loop invariant ahead: \forall integer k; i <= k < n ==> from[k] == \at(from[k], Pre);
        loop variant n - i; */
    for (size_t i = 0; i < n; i++) {
        to[kept] = from[i];
        kept += valid[i];
    }
    return kept;
}

#endif
