/* SPDX-License-Identifier: PostgreSQL */
/* What is said of a page with any bytes and any checksum: upstream's PageIsVerified, in its words. */
#include "bounded.h"
#include "tornpage/check.c"

void proof(void)
{
    uint8_t page[SIZE];
    uint16_t checksum = nondet_u16(), pd_checksum, flags, lower, upper, special;
    bool zero = true, header;
    pgq_tornpage_verdict verdict;

    for (size_t i = 0; i < SIZE; i++) {
        page[i] = nondet_u8();
        zero = zero && page[i] == 0;
    }
    pd_checksum = page[8] | page[9] << 8, flags = page[10] | page[11] << 8;
    lower = page[12] | page[13] << 8, upper = page[14] | page[15] << 8, special = page[16] | page[17] << 8;
    header = flags <= 7 && lower <= upper && upper <= special && special <= SIZE && special % 8 == 0;
    verdict = verdict_of(page, SIZE, checksum);

    claim((verdict == PGQ_TORNPAGE_NEW) == zero, "a page is new if and only if all of its bytes are zero");
    claim((verdict == PGQ_TORNPAGE_SOUND) == (upper != 0 && pd_checksum == checksum && header),
          "it is sound if and only if its checksum and its header are");
    claim((verdict == PGQ_TORNPAGE_CHECKSUM) == (upper != 0 && pd_checksum != checksum),
          "a wrong checksum is named before a wrong header");
}
