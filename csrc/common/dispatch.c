/* SPDX-License-Identifier: PostgreSQL */
#include "common/dispatch.h"

#include "common/common.h"

#include <stdlib.h>
#include <string.h>

/* The linker collects the entries of all kinds in one section and defines symbols for its start and its end. */
extern pgq_kind *const __start_pgq_kinds[] __attribute__((visibility("hidden")));
extern pgq_kind *const __stop_pgq_kinds[] __attribute__((visibility("hidden")));

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

size_t pgq_variant_count(void)
{
    size_t n = 0;

    for (pgq_kind *const *kind = __start_pgq_kinds; kind < __stop_pgq_kinds; kind++)
        n += (*kind)->count;
    return n;
}

pgq_variant_info pgq_variant_at(size_t i)
{
    pgq_kind *const *kind = __start_pgq_kinds;

    for (; i >= (*kind)->count; kind++)
        i -= (*kind)->count;
    return (pgq_variant_info){(*kind)->name, name_of(*kind, i), is_supported(*kind, i)};
}

/* A part of the text of PGQUERN_VARIANT. */
typedef struct word {
    const char *start;
    size_t length;
} word;

static bool equals(const char *name, word w)
{
    return strncmp(name, w.start, w.length) == 0 && name[w.length] == '\0';
}

/* `variant`, for all kinds (kind.start is NULL), or `kind=variant`. */
typedef struct item {
    word kind, variant;
} item;

/* The first item of *list, which is not NULL. *list becomes the items that follow, NULL after the last one. */
static item next_item(const char **list)
{
    const char *text = *list;
    size_t kind = strcspn(text, "=,"), end = strcspn(text, ",");

    *list = text[end] == ',' ? text + end + 1 : NULL;
    if (kind == end)
        return (item){{NULL, 0}, {text, end}};
    return (item){{text, kind}, {text + kind + 1, end - kind - 1}};
}

/* The index of the variant that an item names in a kind; -1 if the item names another kind, or no variant of this one. */
static int find(const pgq_kind *kind, item named)
{
    if (named.kind.start != NULL && !equals(kind->name, named.kind))
        return -1;
    for (size_t i = 0; i < kind->count; i++)
        if (equals(name_of(kind, i), named.variant))
            return (int)i;
    return -1;
}

static bool is_known(item named)
{
    for (pgq_kind *const *kind = __start_pgq_kinds; kind < __stop_pgq_kinds; kind++)
        if (find(*kind, named) >= 0)
            return true;
    return false;
}

static int last_supported(const pgq_kind *kind)
{
    for (size_t i = kind->count; i-- > 0;)
        if (is_supported(kind, i))
            return (int)i;
    return -1;
}

static int choose(const pgq_kind *kind)
{
    const char *list = getenv("PGQUERN_VARIANT");
    int named = -1;

    if (pgq_cpu() == NULL)
        return -1;
    if (list != NULL && list[0] == '\0')
        list = NULL;
    while (list != NULL) {
        item next = next_item(&list);
        int i = find(kind, next);

        if (i < 0 && !is_known(next))
            return -1;
        named = i >= 0 ? i : named;
    }
    if (named < 0)
        return last_supported(kind);
    return is_supported(kind, (size_t)named) ? named : -1;
}

int pgq_choose(pgq_kind *kind)
{
    /* Stored as index + 2, so that 0 says "not asked yet" and 1 "cannot be followed". */
    int known = atomic_load_explicit(&kind->chosen, memory_order_relaxed);

    if (known == 0) {
        known = choose(kind) + 2;
        atomic_store_explicit(&kind->chosen, known, memory_order_relaxed);
    }
    return known - 2;
}
