/* SPDX-License-Identifier: PostgreSQL */
/*
 * The server's calls of the kernel, counted; broken, it refuses them. Upstream's suites do not notice wrong answers: in
 * test_decoding hardly anything survives a purge. With a kernel that keeps nothing, or that takes the oldest running
 * transaction as committed, all of it passes.
 */
#include "counted.h"

pgq_status __real_pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin);
pgq_status __wrap_pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin);

pgq_status __wrap_pgq_snapbuild_purge(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    static watched here = {.kind = "snapbuild_purge"};

    return seen(&here) > 0 ? (pgq_status){.code = PGQ_NULL} : __real_pgq_snapbuild_purge(committed, xmin);
}
