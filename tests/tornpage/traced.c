/* SPDX-License-Identifier: PostgreSQL */
/* What the checksums load. Records from stdin to stdout, as those of proofs/oracle/tornpage_operations.ml. */
#include "tornpage/checksum.h"

#include <accesses.h>
#include <stdio.h>

static pgq_status run(int op, const void *pages, size_t count, size_t size, uint16_t checksums[])
{
    switch (op) {
    case 0:
        return pgq_tornpage_checksum_upstream(pages, count, size, 0, checksums);
    case 1:
        return pgq_tornpage_checksum_scalar(pages, count, size, 0, checksums);
#if defined(__x86_64__)
    case 2:
        return pgq_tornpage_checksum_avx2(pages, count, size, 0, checksums);
    case 3:
        return pgq_tornpage_checksum_avx512(pages, count, size, 0, checksums);
#elif defined(__aarch64__)
    case 4:
        return pgq_tornpage_checksum_neon(pages, count, size, 0, checksums);
#endif
    default:
        return refused(PGQ_NULL, 0);
    }
}

int main(void)
{
    size_t odd = 0;

    for (int op; (op = getchar()) != EOF;) {
        uint32_t rows, count;
        uint16_t *checksums;
        size_t size;
        char *room, *pages;
        pgq_status status;

        input(&rows, sizeof rows);
        input(&count, sizeof count);
        size = rows * (size_t)ROW;
        room = guarded(count * size + 1);
        checksums = guarded(count * sizeof *checksums);
        pages = room + odd; /* a page needs no alignment */
        odd = !odd;
        input(pages, count * size);
        watch(0, pages, count * size, sizeof(uint32_t));
        status = run(op, pages, count, size, checksums);
        if (status.code != PGQ_OK) {
            fprintf(stderr, "traced: operation %d is refused with code %d\n", op, (int)status.code);
            return 2;
        }
        tell_operations();
        guarded_free(checksums);
        guarded_free(room);
    }
    return 0;
}
