/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: pages of any bytes go to every variant of the checksum that this CPU runs, and to the check. Each must
 * give what upstream's variant gives, page by page, and the check what the checksums and the bytes say. The pages have memory of exactly
 * their size, so that AddressSanitizer sees an access beyond.
 *
 * Input: a byte for the size of a block, one for the number of pages, four for the first block number, one that says
 * whether checksums are set right; then bytes, repeated until all pages are full.
 */
#include "pgquern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 7 };

static unsigned long long checksummed, refused_calls, verdict_counts[4];

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr, "tally: checksummed=%llu refused=%llu SOUND=%llu NEW=%llu CHECKSUM=%llu HEADER=%llu\n",
            checksummed, refused_calls, verdict_counts[0], verdict_counts[1], verdict_counts[2],
            verdict_counts[3]);
}

static void require(bool holds, const char *what, const char *variant)
{
    if (!holds) {
        fprintf(stderr, "fuzz tornpage: %s: %s\n", variant, what);
        abort();
    }
}

/* What the first variant gives, upstream's: against the definition, extracted, it is tested elsewhere. */
static uint16_t upstream_checksum(const uint8_t *page, size_t size, uint32_t block)
{
    uint16_t sum;

    require(pgq_tornpage_checksum_variants[0].fn(page, 1, size, block, &sum).code == PGQ_OK, "refused",
            "upstream");
    return sum;
}

/* Fills the pages; `how` makes some of them nearly sound. */
static void fill(uint8_t *pages, size_t count, size_t size, uint32_t first, bool accepted, unsigned how,
                 const uint8_t *data, size_t length)
{
    memset(pages, 0, count * size);
    for (size_t at = 0; at < count * size && length > 0; at++)
        pages[at] = data[at % length];
    for (size_t i = 0; i < count; i++, how >>= 2) {
        uint8_t *page = pages + i * size;
        if ((how & 3) == 3)
            memset(page, 0, size);
        if ((how & 3) == 2) {
            page[10] &= 7, page[11] = 0;
            memset(page + 12, 0, 2);
            page[14] = 24, page[15] = 0;
            page[16] = 0, page[17] = (uint8_t)(size >> 8);
        }
        if (accepted && ((how & 3) == 1 || (how & 3) == 2))
            memcpy(page + 8, &(uint16_t){upstream_checksum(page, size, first + (uint32_t)i)},
                   sizeof(uint16_t));
    }
}

static void try_pages(const uint8_t *pages, size_t count, size_t size, uint32_t first)
{
    uint16_t *sums = malloc(count * sizeof *sums + 1), *wanted = malloc(count * sizeof *sums + 1);
    uint8_t *verdicts = malloc(count + 1);
    size_t wrong = 0;
    pgq_status status;

    if (sums == NULL || wanted == NULL || verdicts == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        wanted[i] = upstream_checksum(pages + i * size, size, first + (uint32_t)i);
    for (size_t v = 0; v < pgq_tornpage_checksum_variant_count; v++) {
        const pgq_tornpage_checksum_variant *variant = &pgq_tornpage_checksum_variants[v];

        if (!variant->supported())
            continue;
        memset(sums, 0, count * sizeof *sums);
        require(variant->fn(pages, count, size, first, sums).code == PGQ_OK, "refused", variant->name);
        require(memcmp(sums, wanted, count * sizeof *sums) == 0, "another checksum", variant->name);
        checksummed++;
    }
    status = pgq_tornpage_check(pages, count, size, first, verdicts);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *page = pages + i * size;
        bool is_new = page[14] == 0 && page[15] == 0, right = (page[8] | (unsigned)page[9] << 8) == wanted[i];

        require((verdicts[i] == PGQ_TORNPAGE_CHECKSUM) == (!is_new && !right), "another verdict", "check");
        verdict_counts[verdicts[i]]++;
        if (verdicts[i] >= PGQ_TORNPAGE_CHECKSUM && wrong == 0)
            wrong = i + 1;
    }
    require(status.index == wrong, "another first wrong page", "check");
    require(status.code == (wrong ? PGQ_TORNPAGE_WRONG_PAGE : PGQ_OK), "another status", "check");
    require(pgq_tornpage_check(pages, count, size, first, NULL).index == wrong, "other without verdicts",
            "check");
    free(sums), free(wanted), free(verdicts);
}

/* A refusal has index 0 and writes nothing. */
static void refuse_pages(const uint8_t *pages, size_t count, size_t size, uint32_t first)
{
    pgq_code wanted = size < 1024 ? PGQ_TORNPAGE_BLOCK_SIZE : PGQ_TORNPAGE_BLOCK_NUMBER;
    uint16_t sums[6], sums_before[6];
    uint8_t verdicts[6], verdicts_before[6];
    pgq_status status;

    memset(sums, 0xa5, sizeof sums);
    memcpy(sums_before, sums, sizeof sums);
    memset(verdicts, 0xa5, sizeof verdicts);
    memcpy(verdicts_before, verdicts, sizeof verdicts);
    for (size_t v = 0; v < pgq_tornpage_checksum_variant_count; v++) {
        const pgq_tornpage_checksum_variant *variant = &pgq_tornpage_checksum_variants[v];

        if (!variant->supported())
            continue;
        status = variant->fn(pages, count, size, first, sums);
        require(status.code == wanted && status.index == 0, "accepted, or another refusal", variant->name);
    }
    status = pgq_tornpage_check(pages, count, size, first, verdicts);
    require(status.code == wanted && status.index == 0, "accepted, or another refusal", "check");
    require(memcmp(sums, sums_before, sizeof sums) == 0, "a refusal wrote checksums", "dispatched");
    require(memcmp(verdicts, verdicts_before, sizeof verdicts) == 0, "a refusal wrote verdicts", "check");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    size_t size, count;
    uint32_t first;
    uint8_t *pages;

    if (length < HEAD)
        return 0;
    size = (size_t)512 << data[0] % 5;
    count = data[1] % 6;
    memcpy(&first, data + 2, sizeof first);
    pages = malloc(count * size + 1); /* one byte more: no pages are not NULL */
    if (pages == NULL)
        abort();
    bool accepted = size >= 1024 && first + (uint64_t)count <= UINT32_MAX;
    fill(pages, count, size, first, accepted, data[6] * 257u, data + HEAD, length - HEAD);
    if (!accepted) {
        refuse_pages(pages, count, size, first);
        refused_calls++;
    } else {
        try_pages(pages, count, size, first);
    }
    free(pages);
    return 0;
}
