/* SPDX-License-Identifier: PostgreSQL */
/*
 * The walk that the fast kernels share, chunk by chunk: see kernels.h. A file that includes this defines greatest_age. Internal:
 * not installed, not seen by the bindings.
 */
#ifndef PGQUERN_DATFROZENXID_CHUNKS_H
#define PGQUERN_DATFROZENXID_CHUNKS_H

#include "datfrozenxid/kernels.h"

/*@ // No age of n values is above g.
    predicate none_above{L}(uint32_t *values, integer n, integer last_sane, integer first, integer g) =
        \forall integer i; 0 <= i < n ==> behind(values[i], last_sane, first) <= g;
    // g is the age of one of them, or 0.
    predicate one_at{L}(uint32_t *values, integer n, integer last_sane, integer first, integer g) =
        g == 0 || \exists integer i; 0 <= i < n && behind(values[i], last_sane, first) == g;
*/

/* The greatest age among n values; first: the least normal id. */
/*@ requires n < SIZE_MAX && \valid_read(values + (0 .. n - 1));
    assigns \nothing;
    ensures bound: none_above(values, n, last_sane, first, \result);
    ensures one: one_at(values, n, last_sane, first, \result); */
ALWAYS_INLINE uint32_t greatest_age(const uint32_t values[], size_t n, uint32_t last_sane, uint32_t first);

/*@ ghost
    // The older of a value, whose age is not suspect, and the id of age g is the id of the greater age, which is returned.
    /@ requires i < n && \valid_read(chunk + (0 .. n - 1)) && g <= greatest < HALF_RING;
       requires settled(oldest, last_sane, multixact);
       requires last_sane >= (multixact ? 1 : 3) && (uint32_t)(last_sane - g) >= (multixact ? 1 : 3);
       requires none_above(chunk, n, last_sane, multixact ? 1 : 3, greatest);
       assigns \nothing;
       ensures greater: \result == greater(g, behind(chunk[i], last_sane, multixact ? 1 : 3)) <= greatest;
       ensures sane: !is_future(chunk[i], last_sane, multixact);
       ensures older: older(chunk[i], lowered(oldest, g, last_sane, multixact ? 1 : 3), multixact) ==
         lowered(oldest, \result, last_sane, multixact ? 1 : 3);
       ensures normal: (uint32_t)(last_sane - \result) >= (multixact ? 1 : 3);
    @/
    static uint32_t one_older(const uint32_t *chunk, size_t n, size_t i, uint32_t oldest, uint32_t g,
                              uint32_t greatest, uint32_t last_sane, bool multixact) {
      uint32_t age = (chunk[i] < (multixact ? 1 : 3) ? 0 : last_sane) - chunk[i];
      return age > g ? age : g;
    }

    // Of a chunk whose greatest age is not suspect, the id of that age is the oldest if it is older than what is there.
    /@ requires from + n < SIZE_MAX && \valid_read(values + (from .. from + n - 1)) && greatest < HALF_RING;
       requires settled(oldest, last_sane, multixact) && last_sane >= (multixact ? 1 : 3);
       requires none_above(values + from, n, last_sane, multixact ? 1 : 3, greatest);
       requires one_at(values + from, n, last_sane, multixact ? 1 : 3, greatest);
       assigns \nothing;
       ensures none: none_future(values, from, from + n, last_sane, multixact);
       ensures lowered: oldest_of(values, from, from + n, oldest, multixact) ==
         lowered(oldest, greatest, last_sane, multixact ? 1 : 3);
       ensures normal: (uint32_t)(last_sane - greatest) >= (multixact ? 1 : 3);
    @/
    static void by_age(const uint32_t *values, size_t from, size_t n, uint32_t oldest, uint32_t greatest,
                       uint32_t last_sane, bool multixact) {
      uint32_t g = 0;
      /@ loop assigns i, g;
         loop invariant within: from <= i <= from + n;
         loop invariant greatest: 0 <= g <= greatest;
         loop invariant bound: none_above(values + from, i - from, last_sane, multixact ? 1 : 3, g);
         loop invariant normal: (uint32_t)(last_sane - g) >= (multixact ? 1 : 3);
         loop invariant none: none_future(values, from, i, last_sane, multixact);
         loop invariant lowered: oldest_of(values, from, i, oldest, multixact) ==
           lowered(oldest, g, last_sane, multixact ? 1 : 3);
         loop variant from + n - i; @/
      for (size_t i = from; i < from + n; i++)
        g = one_older(values + from, n, i - from, oldest, g, greatest, last_sane, multixact);
      /@ assert all: g == greatest; @/
    }

    // The oldest up to `to` is what the oldest up to `from` becomes between them; it does not lie in the future.
    /@ requires from <= to && \valid_read(values + (0 .. to - 1));
       requires settled(oldest_of(values, 0, from, start, multixact), last_sane, multixact);
       requires none_future(values, from, to, last_sane, multixact);
       assigns \nothing;
       ensures joined: oldest_of(values, from, to, oldest_of(values, 0, from, start, multixact), multixact) ==
         oldest_of(values, 0, to, start, multixact);
       ensures settled: settled(oldest_of(values, 0, to, start, multixact), last_sane, multixact);
    @/
    static void join(const uint32_t *values, size_t from, size_t to, uint32_t start, uint32_t last_sane,
                     bool multixact) {
      /@ loop assigns i;
         loop invariant within: from <= i <= to;
         loop invariant joined:
           oldest_of(values, from, i, oldest_of(values, 0, from, start, multixact), multixact) ==
             oldest_of(values, 0, i, start, multixact);
         loop invariant settled: settled(oldest_of(values, 0, i, start, multixact), last_sane, multixact);
         loop variant to - i; @/
      for (size_t i = from; i < to; i++) ;
    } */

/*@ requires bounds == \null || \valid_read(bounds);
    requires minimum == \null || \valid(minimum);
    requires values == \null || \valid_read(values + (0 .. n - 1));
    requires \separated(minimum, values + (0 .. n - 1)) && \separated(minimum, bounds);
    assigns *minimum;
    behavior refuse:
      assumes values_refused(values, n, bounds, minimum) != PGQ_OK;
      ensures kept: minimum == \null || *minimum == \old(*minimum);
      ensures code: \result.code == values_refused{Pre}(values, n, bounds, minimum) && \result.index == 0;
    behavior scan:
      assumes values_refused(values, n, bounds, minimum) == PGQ_OK;
      ensures none: \result.code == PGQ_OK ==> none_future(values, 0, n, bounds->last_sane, bounds->multixact);
      ensures oldest: \result.code == PGQ_OK ==>
          *minimum == oldest_of{Pre}(values, 0, n, bounds->start, bounds->multixact);
      ensures first: \result.code != PGQ_OK ==> 1 <= \result.index <= n &&
          is_future(values[\result.index - 1], bounds->last_sane, bounds->multixact) &&
          none_future(values, 0, \result.index - 1, bounds->last_sane, bounds->multixact);
      ensures which: \result.code != PGQ_OK ==>
          \result.code == (bounds->multixact ? PGQ_DATFROZENXID_FUTURE_MULTI : PGQ_DATFROZENXID_FUTURE_XID);
      ensures kept: \result.code != PGQ_OK ==> *minimum == \old(*minimum); */
ALWAYS_INLINE pgq_status min_frozen_by_age(const uint32_t values[], size_t n,
                                           const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    pgq_code code = values_fault(values, n, bounds, minimum);
    uint32_t oldest, last_sane;
    bool multixact;

    if (code != PGQ_OK)
        return refused(code, 0);
    oldest = bounds->start;
    last_sane = bounds->last_sane;
    multixact = bounds->multixact;
    /*@ loop assigns from, oldest;
        loop invariant within: 0 <= from <= n + CHUNK - 1 && from % CHUNK == 0;
        loop invariant none: none_future(values, 0, from < n ? from : n, last_sane, multixact);
        loop invariant oldest: oldest == oldest_of{Pre}(values, 0, from < n ? from : n, bounds->start, multixact);
        loop invariant settled: settled(oldest, last_sane, multixact);
        loop variant n - from; */
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t to = n - from > CHUNK ? from + CHUNK : n;
        uint32_t greatest = greatest_age(values + from, to - from, last_sane, first_normal(multixact));

        /*@ assert chunk: (size_t)(to - from) == to - from <= CHUNK; */
        if (greatest < HALF_RING) {
            /*@ ghost by_age(values, from, to - from, oldest, greatest, last_sane, multixact); */
            /*@ ghost join(values, from, to, bounds->start, last_sane, multixact); */
            lower_to_age(&oldest, greatest, last_sane, multixact);
        } else {
            size_t i = scan_values(values, from, to, last_sane, multixact, &oldest);

            /*@ ghost join(values, from, i, bounds->start, last_sane, multixact); */
            if (i < to)
                return refused(future(multixact), i + 1);
        }
    }
    HOLDS(!id_precedes(last_sane, oldest, multixact)); /* no value taken lies in the future */
    *minimum = oldest;
    return accepted();
}

#endif
