/* SPDX-License-Identifier: PostgreSQL */
#include "compaction/page.h"

/*@ // The first fault of a line pointer, in the order of compaction.h; PGQ_OK if it has none.
    logic integer fault_of{L}(uint8_t *page, integer i) =
        size_of(page, i) == 0 ? PGQ_OK
        : off_of(page, i) < number16(page + PD_UPPER) || off_of(page, i) >= number16(page + PD_SPECIAL)
            ? PGQ_COMPACTION_LP_OFF
        : off_of(page, i) % 8 != 0 ? PGQ_COMPACTION_LP_ALIGN
        : end_of(page, i) > number16(page + PD_SPECIAL) ? PGQ_COMPACTION_LP_END
        : tuples(page, i + 1) > MAX_HEAP_TUPLES_PER_PAGE ? PGQ_COMPACTION_TOO_MANY : PGQ_OK;
    predicate sound{L}(uint8_t *page, integer n) = \forall integer i; 0 <= i < n ==> fault_of(page, i) == PGQ_OK;

    // Tuples start ever lower; one of them ends above the start of the one before it.
    predicate falls{L}(uint8_t *page, integer n) =
        \forall integer i; 0 <= i < n && size_of(page, i) != 0 ==> off_of(page, i) < start(page, i);
    predicate overlaps{L}(uint8_t *page, integer i) =
        size_of(page, i) != 0 && off_of(page, i) < start(page, i) < end_of(page, i);
    predicate apart{L}(uint8_t *page, integer n) = \forall integer i; 0 <= i < n ==> !overlaps(page, i);

    predicate too_long{L}(uint8_t *page) =
        sizes(page, lines(page)) > number16(page + PD_SPECIAL) - number16(page + PD_LOWER);
*/
/*@ ghost
    // What line pointer i says of the first i + 1, and of the first n.
    /@ requires i < n;
       assigns \nothing;
       ensures sound(page, i + 1) <==> sound(page, i) && fault_of(page, i) == PGQ_OK;
       ensures falls(page, i + 1) <==>
         falls(page, i) && (size_of(page, i) == 0 || off_of(page, i) < start(page, i));
       ensures apart(page, i + 1) <==> apart(page, i) && !overlaps(page, i);
       ensures sound(page, n) ==> fault_of(page, i) == PGQ_OK;
       ensures apart(page, n) ==> !overlaps(page, i); @/
    static void say(const uint8_t *page, uint32_t i, uint32_t n) {} */

/*@ requires \valid_read(page + (0 .. BLCKSZ - 1));
    assigns \nothing;
    behavior wrong_header:
      assumes !header(page);
      ensures named: \result.code == PGQ_COMPACTION_HEADER && \result.index == 0;
    behavior wrong_pointer:
      assumes header(page) && !sound(page, lines(page));
      ensures within: 1 <= \result.index <= lines(page);
      ensures first: sound(page, \result.index - 1);
      ensures code: \result.code == fault_of(page, \result.index - 1) && \result.code != PGQ_OK;
    behavior wrong_total:
      assumes header(page) && sound(page, lines(page)) && too_long(page);
      ensures named: \result.code == PGQ_COMPACTION_TOTAL && \result.index == 0;
    behavior overlap:
      assumes header(page) && sound(page, lines(page)) && !too_long(page);
      assumes falls(page, lines(page)) && !apart(page, lines(page));
      ensures code: \result.code == PGQ_COMPACTION_OVERLAP && 1 <= \result.index <= lines(page);
      ensures first: overlaps(page, \result.index - 1) && apart(page, \result.index - 1);
    behavior good:
      assumes header(page) && sound(page, lines(page)) && !too_long(page);
      assumes !falls(page, lines(page)) || apart(page, lines(page));
      ensures \result.code == PGQ_OK; */
pgq_status pgq_compaction_check(const uint8_t *page)
{
    bounds b;
    uint32_t nstorage = 0, total = 0, previous_off, overlapping = 0;
    bool presorted = true;

    if (!read_bounds(page, &b))
        return refused(PGQ_COMPACTION_HEADER, 0);

    previous_off = b.special;
    /*@ loop assigns i, nstorage, total, previous_off, overlapping, presorted;
        loop invariant within: 0 <= i <= b.nline;
        loop invariant sound: sound(page, i);
        loop invariant count: nstorage == tuples(page, i) <= MAX_HEAP_TUPLES_PER_PAGE;
        loop invariant total: total == sizes(page, i) <= BLCKSZ * nstorage;
        loop invariant last: previous_off == start(page, i);
        loop invariant falls: presorted <==> falls(page, i);
        loop invariant apart: overlapping == 0 ==> apart(page, i);
        loop invariant overlap: overlapping != 0 ==>
            overlapping <= i && overlaps(page, overlapping - 1) && apart(page, overlapping - 1);
        loop variant b.nline - i; */
    for (uint32_t i = 0; i < b.nline; i++) {
        uint32_t word = load32(page + SIZE_OF_PAGE_HEADER + 4 * i);
        uint32_t off = lp_off(word), len = maxalign(lp_len(word));

        /*@ assert index: i < (BLCKSZ - 24) / 4 && (uint32_t)(4 * i) == 4 * i && (uint32_t)(i + 1) - 1 == i; */
        /*@ assert word: word == pointer(page, i); */
        /*@ assert off: off == off_of(page, i); */
        /*@ assert small: off < 0x8000 && len <= 0x8000; */
        /*@ assert size: size_of(page, i) == (flags_in(word) == 0 ? 0 : len); */
        /*@ assert tuples: tuples(page, i + 1) == tuples(page, i) + (size_of(page, i) == 0 ? 0 : 1); */
        /*@ assert sizes: sizes(page, i + 1) == sizes(page, i) + size_of(page, i); */
        /*@ assert start: start(page, i + 1) == (size_of(page, i) == 0 ? start(page, i) : off_of(page, i)); */
        /*@ assert fault: fault_of(page, i) ==
            (size_of(page, i) == 0 ? PGQ_OK : off < b.upper || off >= b.special ? PGQ_COMPACTION_LP_OFF
             : off % 8 != 0 ? PGQ_COMPACTION_LP_ALIGN : off + len > b.special ? PGQ_COMPACTION_LP_END
             : nstorage + 1 > MAX_HEAP_TUPLES_PER_PAGE ? PGQ_COMPACTION_TOO_MANY : PGQ_OK); */
        /*@ ghost say(page, i, b.nline); */
        /*@ assert overlap: overlaps(page, i) <==> size_of(page, i) != 0 && off < previous_off < off + len; */
        if (!lp_is_used(word) || len == 0)
            continue;
        if (off < b.upper || off >= b.special)
            return refused(PGQ_COMPACTION_LP_OFF, i + 1);
        if (off % 8 != 0)
            return refused(PGQ_COMPACTION_LP_ALIGN, i + 1);
        if (off + len > b.special)
            return refused(PGQ_COMPACTION_LP_END, i + 1);
        if (++nstorage > MAX_HEAP_TUPLES_PER_PAGE)
            return refused(PGQ_COMPACTION_TOO_MANY, i + 1);
        total += len;
        if (off >= previous_off)
            presorted = false;
        else if (overlapping == 0 && off + len > previous_off)
            overlapping = i + 1;
        previous_off = off;
    }
    /*@ assert lines: b.nline == lines(page) && sound(page, lines(page)); */
    /*@ ghost if (overlapping != 0) say(page, overlapping - 1, b.nline); */
    /*@ assert sum: total == sizes(page, lines(page)); */
    /*@ assert order: presorted <==> falls(page, lines(page)); */
    if (total > b.special - b.lower)
        return refused(PGQ_COMPACTION_TOTAL, 0);
    if (presorted && overlapping != 0)
        return refused(PGQ_COMPACTION_OVERLAP, overlapping);
    return accepted();
}
