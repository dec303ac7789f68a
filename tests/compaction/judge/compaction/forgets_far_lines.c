/* SPDX-License-Identifier: PostgreSQL */
/* It clears no unused line pointer behind the 600th. */
#include "pgquern.h"

#include <string.h>

enum { FIRST = 24 + 4 * 600 };

pgq_status pgq_compaction_scalar(void *page, bool truncate);

pgq_status candidate(void *page, bool truncate)
{
    char was[8192];
    uint16_t lower = 0;

    if (page != NULL) {
        memcpy(was, page, sizeof was);
        memcpy(&lower, was + 12, sizeof lower);
    }
    pgq_status status = pgq_compaction_scalar(page, truncate);
    for (size_t at = FIRST; status.code == PGQ_OK && at + 4 <= lower; at += 4) {
        uint32_t line;

        memcpy(&line, was + at, sizeof line);
        if ((line >> 15 & 3) == 0)
            memcpy((char *)page + at, &line, sizeof line);
    }
    return status;
}
