/* SPDX-License-Identifier: PostgreSQL */
/*
 * The server's calls of the kernel, counted; broken, it loses the last tuple of a page that has 20 line pointers or more, from
 * the 1000th call on: initdb must be through.
 */
#include "counted.h"

enum { HEADER = 24, LINE_POINTER = 4, LOWER_AT = 12, SOME = 20, INITDB = 1000 };

pgq_status __real_pgq_compaction_repair_fragmentation(void *page, bool truncate);
pgq_status __wrap_pgq_compaction_repair_fragmentation(void *page, bool truncate);

pgq_status __wrap_pgq_compaction_repair_fragmentation(void *page, bool truncate)
{
    static watched here = {.kind = "compaction"};
    uint64_t turn = seen(&here);
    pgq_status status = __real_pgq_compaction_repair_fragmentation(page, truncate);
    uint16_t lower;

    memcpy(&lower, (char *)page + LOWER_AT, sizeof lower);
    if (turn > INITDB && status.code == PGQ_OK && lower >= HEADER + SOME * LINE_POINTER)
        memset((char *)page + lower - LINE_POINTER, 0, LINE_POINTER);
    return status;
}
