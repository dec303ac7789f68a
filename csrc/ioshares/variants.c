/* SPDX-License-Identifier: PostgreSQL */
/* The table of variants, and the dispatched entry. */
#include "common/dispatch.h"
#include "ioshares/scheduler.h"

const pgq_ioshares_variant pgq_ioshares_variants[] = {
    {"fifo", "first come, first served, whatever the class", pgq_cpu_any, pgq_ioshares_fifo},
    {"sfq", "start-time fair queueing, with warp", pgq_cpu_any, pgq_ioshares_sfq},
};
const size_t pgq_ioshares_variant_count = sizeof pgq_ioshares_variants / sizeof pgq_ioshares_variants[0];

PGQ_KIND(ioshares)

pgq_status pgq_ioshares_init(void *memory, size_t bytes, const pgq_ioshares_config *config,
                             pgq_ioshares **scheduler)
{
    const pgq_ioshares_variant *variant = ioshares_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(memory, bytes, config, scheduler);
}
