/* SPDX-License-Identifier: PostgreSQL */
/* The table of eviction policies, and the dispatched entry. */
#include "common/dispatch.h"
#include "common/outcome.h"
#include "tiercache/policy.h"

#include <string.h>

const pgq_tiercache_policy_variant pgq_tiercache_policy_variants[] = {
    {"lru", "least recently used, in one queue", pgq_cpu_any, pgq_tiercache_policy_lru},
    {"s3fifo", "S3-FIFO: a small queue, a main one, and ghosts", pgq_cpu_any, pgq_tiercache_policy_s3fifo},
    {"tinylfu", "W-TinyLFU: a window that adapts, and what is asked for often", pgq_cpu_any,
     pgq_tiercache_policy_tinylfu},
};
const size_t pgq_tiercache_policy_variant_count =
    sizeof pgq_tiercache_policy_variants / sizeof pgq_tiercache_policy_variants[0];

PGQ_KIND(tiercache_policy)

static const policy_calls *const calls_of[] = {&pgq_tiercache_lru, &pgq_tiercache_s3fifo,
                                               &pgq_tiercache_tinylfu};

pgq_code pgq_tiercache_policy_named(const char *name, const policy_calls **calls)
{
    if (name == NULL) {
        const pgq_tiercache_policy_variant *variant = tiercache_policy_dispatched();

        name = variant == NULL ? "" : variant->name;
    }
    for (size_t i = 0; i < pgq_tiercache_policy_variant_count; i++) {
        if (strcmp(pgq_tiercache_policy_variants[i].name, name) == 0) {
            *calls = calls_of[i];
            return PGQ_OK;
        }
    }
    return PGQ_VARIANT;
}

pgq_status pgq_tiercache_policy(const uint64_t pages[], size_t n, uint32_t frames, uint64_t *hits)
{
    const pgq_tiercache_policy_variant *variant = tiercache_policy_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(pages, n, frames, hits);
}
