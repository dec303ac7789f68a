/* SPDX-License-Identifier: PostgreSQL */
#include "dispatch.h"

#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

/* The linker gathers every kind's entry in one section and names its ends. */
extern const pgq_kind *const __start_pgq_kinds[] __attribute__((visibility("hidden")));
extern const pgq_kind *const __stop_pgq_kinds[] __attribute__((visibility("hidden")));

static const char *name_of(const pgq_kind *kind, size_t i)
{
    const char *name;

    memcpy(&name, kind->variants + i * kind->stride + kind->name_at, sizeof name);
    return name;
}

static bool is_supported(const pgq_kind *kind, size_t i)
{
    bool (*supported)(void);

    memcpy(&supported, kind->variants + i * kind->stride + kind->supported_at, sizeof supported);
    return supported();
}

size_t pgq_row_count(void)
{
    size_t n = 0;

    for (const pgq_kind *const *kind = __start_pgq_kinds; kind < __stop_pgq_kinds; kind++)
        n += (*kind)->count;
    return n;
}

pgq_row pgq_row_at(size_t i)
{
    const pgq_kind *const *kind = __start_pgq_kinds;

    for (; i >= (*kind)->count; kind++)
        i -= (*kind)->count;
    return (pgq_row){(*kind)->name, name_of(*kind, i), is_supported(*kind, i)};
}

static int find(const pgq_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->count; i++)
        if (strcmp(name_of(kind, i), name) == 0)
            return (int)i;
    return -1;
}

static bool known_anywhere(const char *name)
{
    for (const pgq_kind *const *kind = __start_pgq_kinds; kind < __stop_pgq_kinds; kind++)
        if (find(*kind, name) >= 0)
            return true;
    return false;
}

static int choose(const pgq_kind *kind)
{
    const char *forced = getenv("PGQUERN_VARIANT");

    if (pgq_cpu() == NULL)
        return -1;
    if (forced != NULL && forced[0] != '\0') {
        int i = find(kind, forced);

        if (i >= 0)
            return is_supported(kind, (size_t)i) ? i : -1;
        if (!known_anywhere(forced))
            return -1;
    }
    for (size_t i = kind->count; i-- > 0;)
        if (is_supported(kind, i))
            return (int)i;
    return -1;
}

int pgq_choose(const pgq_kind *kind, pgq_choice *memo)
{
    /* Stored as index + 2, so that 0 says "not asked yet" and 1 "cannot be followed". */
    int known = atomic_load_explicit(memo, memory_order_relaxed);

    if (known == 0) {
        known = choose(kind) + 2;
        atomic_store_explicit(memo, known, memory_order_relaxed);
    }
    return known - 2;
}
