/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, and it looks at the 8 bytes behind the page. */
#include "pgquern.h"

#include <string.h>

pgq_status pgq_compaction_scalar(void *page, bool truncate);

pgq_status candidate(void *page, bool truncate)
{
    volatile char beyond[8];

    if (page != NULL)
        memcpy((char *)beyond, (const char *)page + 8192, sizeof beyond);
    return pgq_compaction_scalar(page, truncate);
}
