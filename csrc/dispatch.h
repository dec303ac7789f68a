/* SPDX-License-Identifier: PostgreSQL */
/* Choosing a variant of a kind at run time. Internal: not installed, not seen by the bindings. */
#ifndef PGQUERN_DISPATCH_H
#define PGQUERN_DISPATCH_H

#include "cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* A table of variants, seen without its type: where in an element the name and the `supported` function stand. */
typedef struct pgq_kind {
    const char *name;
    const char *variants;
    size_t count, stride, name_at, supported_at;
} pgq_kind;

/*
 * Makes `kind` describe the array `table` of `type` (which has the members name and supported), and registers it, so
 * that PGQUERN_VARIANT is checked against the names of all kinds linked into the program.
 */
#define PGQ_KIND(kind, table, type)                                                                          \
    static const pgq_kind kind = {#kind,        (const char *)(table), sizeof(table) / sizeof((table)[0]),   \
                                  sizeof(type), offsetof(type, name),  offsetof(type, supported)};           \
    __attribute__((section("pgq_kinds"), used)) static const pgq_kind *const kind##_registered = &kind

/* A memo of pgq_choose's answer, one a kind; static, zero at the start. */
typedef atomic_int pgq_choice;

/*
 * The index of the variant to run: the one PGQUERN_VARIANT names, if this kind has it; otherwise the last supported
 * one. -1 if the variable is set and no kind knows the name, or this kind's variant of that name is not supported;
 * also if PGQUERN_CPU holds a word that is no level.
 * Two threads that meet here for the first time find the same answer.
 */
int pgq_choose(const pgq_kind *kind, pgq_choice *memo);

#endif
