/* SPDX-License-Identifier: PostgreSQL */
/* What the checksums in plain C load. Records from stdin to stdout, as those of proofs/oracle/tornpage_operations.ml. */
#include "tornpage/checksum.h"

#include <accesses.h>
#include <stdio.h>

int main(void)
{
    size_t odd = 0;

    for (int op; (op = getchar()) != EOF;) {
        uint32_t rows;
        uint16_t checksum;
        size_t size;
        char *room, *page;
        pgq_status status;

        input(&rows, sizeof rows);
        size = rows * (size_t)ROW;
        room = guarded(size + 1);
        page = room + odd; /* a page needs no alignment */
        odd = !odd;
        input(page, size);
        watch(0, page, size, sizeof(uint32_t));
        status = op == 0 ? pgq_tornpage_checksum_upstream(page, 1, size, 0, &checksum)
                         : pgq_tornpage_checksum_scalar(page, 1, size, 0, &checksum);
        if (status.code != PGQ_OK) {
            fprintf(stderr, "traced: operation %d is refused with code %d\n", op, (int)status.code);
            return 2;
        }
        tell_operations();
        guarded_free(room);
    }
    return 0;
}
