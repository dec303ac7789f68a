/* SPDX-License-Identifier: PostgreSQL */
#include "pgquern.h"

const char *pgq_strerror(pgq_code code)
{
    switch (code) {
    case PGQ_OK:
        return "no error";
    case PGQ_NULL:
        return "a required pointer is NULL: pass a buffer of 8192 bytes, or an array";
    case PGQ_COMPACTION_BLOCK_SIZE:
        return "the buffer is not of 8192 bytes: only pages of BLCKSZ 8192 are supported";
    case PGQ_COMPACTION_HEADER:
        return "corrupt page header: 24 <= pd_lower <= pd_upper <= pd_special <= 8192 and a MAXALIGNed "
               "pd_special "
               "are required; check that this is an initialised page and not all zeroes";
    case PGQ_COMPACTION_LP_OFF:
        return "corrupt line pointer: lp_off lies outside [pd_upper, pd_special); inspect it with "
               "pageinspect's "
               "heap_page_items";
    case PGQ_COMPACTION_LP_ALIGN:
        return "corrupt line pointer: lp_off is not a multiple of 8; inspect it with pageinspect's "
               "heap_page_items";
    case PGQ_COMPACTION_LP_END:
        return "corrupt line pointer: lp_off + MAXALIGN(lp_len) lies above pd_special; inspect it with "
               "pageinspect's heap_page_items";
    case PGQ_COMPACTION_TOO_MANY:
        return "more than 291 line pointers with storage: no heap page of 8192 bytes has so many tuples; "
               "this is "
               "not a heap page, or it is corrupt";
    case PGQ_COMPACTION_TOTAL:
        return "corrupt item lengths: the tuples add up to more than the space between pd_lower and "
               "pd_special";
    case PGQ_COMPACTION_OVERLAP:
        return "corrupt line pointer: its tuple overlaps the one before it; inspect both with pageinspect's "
               "heap_page_items";
    case PGQ_VARIANT:
        return "an environment variable cannot be followed: PGQUERN_VARIANT must name a variant that this "
               "CPU can run, and PGQUERN_CPU must be none, avx2, avx512 or avx512vbmi2; unset or correct it";
    case PGQ_SNAPBUILD_XID_PERMANENT:
        return "a permanent XID (below 3) where a normal one is required";
    case PGQ_SNAPBUILD_UNSORTED:
        return "the array is not in the order that this function requires: sort it first";
    case PGQ_SNAPBUILD_CAPACITY:
        return "the result does not fit into the array: enlarge it and call again";
    case PGQ_SNAPBUILD_DUPLICATE:
        return "the array contains an XID twice: remove duplicates first";
    case PGQ_MEMORY:
        return "no memory for the workspace: free some, or take a variant that needs none";
    }
    return "not a pgquern status code";
}
