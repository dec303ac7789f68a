/* SPDX-License-Identifier: PostgreSQL */
/*
 * The sums of pages by vector registers: a template. The including file defines before it `vec`, a
 * register; GROUP, how many pages go side by side; REGISTERS a page; next(), one round of a register; words_at(), the r-th
 * register of a row; every_prime(); beside_checksum(), the mask of a page's first register; and fold_lanes(), the xor of
 * all lanes of a page.
 */

/* folded[p]: the xor of the sums of page p, for n pages, one after the other; n is a constant at each call. */
static inline __attribute__((always_inline)) void fold_pages(const uint8_t *pages, size_t rows,
                                                             uint32_t folded[], const size_t n)
{
    const vec prime = every_prime(), mask = beside_checksum(), zero = {0};
    vec mixed[GROUP][REGISTERS];

#pragma GCC unroll 4
    for (size_t p = 0; p < n; p++)
#pragma GCC unroll 8
        for (size_t r = 0; r < REGISTERS; r++) {
            vec words = words_at(pages + p * rows * ROW, r);

            if (r == 0)
                words &= mask;
            mixed[p][r] = words_at((const uint8_t *)pgq_tornpage_base_offsets, r) ^ words;
        }
    for (size_t row = 1; row < rows; row++)
#pragma GCC unroll 4
        for (size_t p = 0; p < n; p++)
#pragma GCC unroll 8
            for (size_t r = 0; r < REGISTERS; r++)
                mixed[p][r] = next(mixed[p][r], words_at(pages + (p * rows + row) * ROW, r), prime);
#pragma GCC unroll 4
    for (size_t round = 0; round < 1 + ZERO_ROUNDS; round++)
#pragma GCC unroll 4
        for (size_t p = 0; p < n; p++)
#pragma GCC unroll 8
            for (size_t r = 0; r < REGISTERS; r++)
                mixed[p][r] = next(mixed[p][r], zero, prime);
#pragma GCC unroll 4
    for (size_t p = 0; p < n; p++)
        folded[p] = fold_lanes(mixed[p]);
}

static inline uint32_t fold_page(const uint8_t *page, size_t rows)
{
    uint32_t folded[1];

    fold_pages(page, rows, folded, 1);
    return folded[0];
}

static inline size_t fold_groups(const uint8_t *pages, size_t count, size_t block_size, uint32_t first_block,
                                 uint16_t checksums[])
{
    size_t i = 0;

    for (; count - i >= GROUP; i += GROUP) {
        uint32_t folded[GROUP];

        fold_pages(pages + i * block_size, block_size / ROW, folded, GROUP);
        for (size_t k = 0; k < GROUP; k++)
            checksums[i + k] = finish(folded[k], first_block + (uint32_t)(i + k));
    }
    return i;
}
