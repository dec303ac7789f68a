/* SPDX-License-Identifier: PostgreSQL */
/* Right: one loop, compiled twice; the CPU is asked which one to take. An id is the older the more it lies behind last_sane. */
#include "pgquern.h"

#define INLINE static inline __attribute__((always_inline))

INLINE pgq_status scan(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                       uint32_t *minimum)
{
    uint32_t last = bounds->last_sane, farthest = last - bounds->start, permanent = 3;

    for (size_t i = 0; i < n; i++) {
        uint32_t x = values[i];

        if (x == 0)
            continue;
        if (!bounds->multixact && x < 3) {
            permanent = x < permanent ? x : permanent;
            continue;
        }
        if ((int32_t)(last - x) < 0)
            return (pgq_status){bounds->multixact ? PGQ_DATFROZENXID_FUTURE_MULTI
                                                  : PGQ_DATFROZENXID_FUTURE_XID,
                                (uint32_t)i + 1};
        farthest = last - x > farthest ? last - x : farthest;
    }
    *minimum = permanent < 3 ? permanent : last - farthest;
    return (pgq_status){PGQ_OK, 0};
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static pgq_status
scan_avx2(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds, uint32_t *minimum)
{
    return scan(values, n, bounds, minimum);
}
#endif

pgq_status candidate(const uint32_t values[], size_t n, const pgq_datfrozenxid_bounds *bounds,
                     uint32_t *minimum)
{
    if (bounds == NULL || minimum == NULL || (values == NULL && n != 0))
        return (pgq_status){PGQ_NULL, 0};
    if (n > 1u << 28)
        return (pgq_status){PGQ_DATFROZENXID_CAPACITY, 0};
    uint32_t first = bounds->multixact ? 1 : 3;
    if (bounds->start < first || bounds->last_sane < first ||
        (int32_t)(bounds->last_sane - bounds->start) < 0)
        return (pgq_status){PGQ_DATFROZENXID_BOUNDS, 0};
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return scan_avx2(values, n, bounds, minimum);
#endif
    return scan(values, n, bounds, minimum);
}
