/* SPDX-License-Identifier: PostgreSQL */
/* The server's calls of the kernel, counted; broken, it loses the last XID. */
#include "counted.h"

pgq_status __real_pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                        pgq_snapbuild_compress_reason reason, int64_t now,
                                                        bool *done);
pgq_status __wrap_pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                        pgq_snapbuild_compress_reason reason, int64_t now,
                                                        bool *done);

pgq_status __wrap_pgq_snapbuild_known_assigned_compress(pgq_snapbuild_known_assigned *known,
                                                        pgq_snapbuild_compress_reason reason, int64_t now,
                                                        bool *done)
{
    static watched here = {.kind = "snapbuild_known_assigned"};
    bool broken = seen(&here) > 0;
    pgq_status status = __real_pgq_snapbuild_known_assigned_compress(known, reason, now, done);

    if (broken && known->head > 0)
        known->head--;
    return status;
}
