/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but it keeps a copy of the last page and looks at it: the next call could answer from it. */
#include "pgquern.h"

#include <string.h>

pgq_status pgq_compaction_scalar(void *page, bool truncate);

static unsigned char last[8192];

pgq_status candidate(void *page, bool truncate)
{
    pgq_status status = pgq_compaction_scalar(page, truncate);

    if (status.code == PGQ_OK && memcmp(last, page, sizeof last) != 0)
        memcpy(last, page, sizeof last);
    return status;
}
