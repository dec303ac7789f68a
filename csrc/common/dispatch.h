/* SPDX-License-Identifier: PostgreSQL */
/* Choosing a variant of a kind at run time. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_DISPATCH_H
#define PGQUERN_DISPATCH_H

#include "common/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A table of variants, seen without its type: where in an element the name and the `supported` function stand. */
typedef struct pgq_kind {
    const char *name;
    const char *variants;
    size_t count, stride, name_at, supported_at;
    atomic_int chosen; /* a memo of pgq_choose's answer, zero at the start */
} pgq_kind;

/*
 * The index of the variant to run: the one that PGQUERN_VARIANT chooses for this kind, otherwise the last supported one.
 * -1 if the environment cannot be followed, as pgquern.h says. Two threads that ask for the first time at once find the
 * same answer.
 */
int pgq_choose(pgq_kind *kind);

/*
 * PGQ_KIND(kind) stands below the table pgq_<kind>_variants. It registers the table, so that PGQUERN_VARIANT is checked
 * against all kinds that are linked into the program, and defines <kind>_dispatched(): the row to run, or NULL if the
 * environment cannot be followed.
 */
#define PGQ_KIND(kind)                                                                                       \
    typedef __typeof__(pgq_##kind##_variants[0]) kind##_row;                                                 \
                                                                                                             \
    static pgq_kind kind##_kind = {.name = #kind,                                                            \
                                   .variants = (const char *)pgq_##kind##_variants,                          \
                                   .count = sizeof pgq_##kind##_variants / sizeof(kind##_row),               \
                                   .stride = sizeof(kind##_row),                                             \
                                   .name_at = offsetof(kind##_row, name),                                    \
                                   .supported_at = offsetof(kind##_row, supported)};                         \
                                                                                                             \
    __attribute__((section("pgq_kinds"), used)) static pgq_kind *const kind##_registered = &kind##_kind;     \
                                                                                                             \
    static kind##_row *kind##_dispatched(void)                                                               \
    {                                                                                                        \
        int i = pgq_choose(&kind##_kind);                                                                    \
                                                                                                             \
        return i < 0 ? NULL : &pgq_##kind##_variants[i];                                                     \
    }

#endif
