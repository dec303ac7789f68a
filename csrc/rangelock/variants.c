/* SPDX-License-Identifier: PostgreSQL */
/* The table of variants, and the call that makes a lock of one. The other calls: calls.c. */
#include "common/dispatch.h"
#include "rangelock/lock.h"

const pgq_rangelock_variant pgq_rangelock_variants[] = {
    {"rwlock", "one pthread_rwlock for the file", pgq_cpu_any, pgq_rangelock_rwlock},
    {"ofd", "the kernel's open file description locks, fcntl(2)", pgq_cpu_any, pgq_rangelock_ofd},
    {"interval", "two balanced trees of ranges, and a count of blockers", pgq_cpu_any,
     pgq_rangelock_interval},
};
const size_t pgq_rangelock_variant_count = sizeof pgq_rangelock_variants / sizeof pgq_rangelock_variants[0];

PGQ_KIND(rangelock)

pgq_status pgq_rangelock_create(int fd, pgq_rangelock **lock)
{
    const pgq_rangelock_variant *variant = rangelock_dispatched();

    return variant == NULL ? refused(PGQ_VARIANT, 0) : variant->fn(fd, lock);
}
