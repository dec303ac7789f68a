/* SPDX-License-Identifier: PostgreSQL */
/* The tuples move without the bytes that pad them to a multiple of 8: those become zero. */
#include "pgquern.h"

#include <string.h>

pgq_status pgq_compaction_scalar(void *page, bool truncate);

pgq_status candidate(void *page, bool truncate)
{
    pgq_status status = pgq_compaction_scalar(page, truncate);
    uint16_t lower;

    if (status.code != PGQ_OK)
        return status;
    memcpy(&lower, (char *)page + 12, sizeof lower);
    for (size_t at = 24; at + 4 <= lower; at += 4) {
        uint32_t pointer, end;

        memcpy(&pointer, (char *)page + at, sizeof pointer);
        end = (pointer & 0x7fff) + (pointer >> 17);
        if (pointer >> 17 != 0 && end % 8 != 0)
            memset((char *)page + end, 0, 8 - end % 8);
    }
    return status;
}
