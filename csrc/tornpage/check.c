/* SPDX-License-Identifier: PostgreSQL */
/* PageIsVerified over the pages of a relation, a few pages at a time, so that they are still in the cache. */
#include "tornpage/checksum.h"

enum {
    PD_CHECKSUM = 8,
    PD_FLAGS = 10,
    PD_LOWER = 12,
    PD_UPPER = 14,
    PD_SPECIAL = 16,
    VALID_FLAGS = 0x0007,
    MAXIMUM_ALIGNOF = 8,
    AT_ONCE = 16, /* pages: 128 KiB of 8 KiB pages */
};

static unsigned field(const uint8_t *page, size_t at)
{
    return page[at] | (unsigned)page[at + 1] << 8;
}

static bool is_zero(const uint8_t *page, size_t block_size)
{
    uint64_t any = 0;

    for (size_t at = 0; at < block_size; at += sizeof any) {
        uint64_t word;

        memcpy(&word, page + at, sizeof word);
        any |= word;
    }
    return any == 0;
}

static pgq_tornpage_verdict verdict_of(const uint8_t *page, size_t block_size, uint16_t checksum)
{
    unsigned lower = field(page, PD_LOWER), upper = field(page, PD_UPPER), special = field(page, PD_SPECIAL);

    if (upper == 0)
        return is_zero(page, block_size) ? PGQ_TORNPAGE_NEW : PGQ_TORNPAGE_HEADER;
    if (field(page, PD_CHECKSUM) != checksum)
        return PGQ_TORNPAGE_CHECKSUM;
    if ((field(page, PD_FLAGS) & ~(unsigned)VALID_FLAGS) != 0 || lower > upper || upper > special ||
        special > block_size || special % MAXIMUM_ALIGNOF != 0)
        return PGQ_TORNPAGE_HEADER;
    return PGQ_TORNPAGE_SOUND;
}

pgq_status pgq_tornpage_check(const void *pages, size_t count, size_t block_size, uint32_t first_block,
                              uint8_t verdicts[])
{
    pgq_code fault = pages_fault(pages, count, block_size, first_block, pages);
    pgq_status answer = accepted();
    uint16_t checksums[AT_ONCE];

    if (fault != PGQ_OK)
        return refused(fault, 0);
    for (size_t first = 0; first < count; first += AT_ONCE) {
        const uint8_t *page = (const uint8_t *)pages + first * block_size;
        size_t n = count - first < AT_ONCE ? count - first : AT_ONCE;
        pgq_status status =
            pgq_tornpage_checksum(page, n, block_size, first_block + (uint32_t)first, checksums);

        if (status.code != PGQ_OK)
            return status;
        for (size_t i = 0; i < n; i++) {
            pgq_tornpage_verdict verdict = verdict_of(page + i * block_size, block_size, checksums[i]);

            if (verdict >= PGQ_TORNPAGE_CHECKSUM && answer.code == PGQ_OK)
                answer = refused(PGQ_TORNPAGE_WRONG_PAGE, first + i + 1);
            if (verdicts != NULL)
                verdicts[first + i] = (uint8_t)verdict;
            else if (answer.code != PGQ_OK)
                return answer;
        }
    }
    return answer;
}
