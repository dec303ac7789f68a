/* SPDX-License-Identifier: PostgreSQL */
/* A run of tuples moves up, onto itself or not: all of its bytes, and no other. Its length, and how far, are taken in turn. */
#include "moved.h"
#include "packed.h"

#include SOURCE

void proof(void)
{
    uint32_t at = any_place();

    for (uint32_t bytes = UNIT; bytes <= MOST; bytes += UNIT)
        for (uint32_t to = 2 * UNIT; to <= BLCKSZ - MOST; to += UNIT) {
            any_contents();
            move_up(page + to, page + UNIT, bytes);
            claim(page[at] == before[to <= at && at < to + bytes ? UNIT + (at - to) : at],
                  "the run lies where it must, and nothing else changes");
        }
}
