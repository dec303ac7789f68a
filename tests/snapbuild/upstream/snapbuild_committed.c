/* SPDX-License-Identifier: PostgreSQL */
/* The server's calls of the kernel, counted; broken, it loses each batch. */
#include "counted.h"

pgq_status __real_pgq_snapbuild_insert(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                       bool consistent);
pgq_status __wrap_pgq_snapbuild_insert(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                       bool consistent);

pgq_status __wrap_pgq_snapbuild_insert(pgq_snapbuild_committed *committed, uint32_t batch[], size_t m,
                                       bool consistent)
{
    static watched here = {.kind = "snapbuild_committed"};

    return __real_pgq_snapbuild_insert(committed, batch, seen(&here) > 0 ? 0 : m, consistent);
}
