/* SPDX-License-Identifier: PostgreSQL */
/* What all stems share: the status that a kernel returns, and what can run on this CPU. */
#ifndef PGQUERN_COMMON_H
#define PGQUERN_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "pgquern needs a little-endian machine: it reads PostgreSQL's pages in that byte order"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Why a call was refused. Each stem lists its codes, with their numbers and texts, in csrc/S/errors.def; those of all
 * stems are in csrc/common/errors.def. Numbers are part of the interface: they never change.
 */
typedef enum pgq_code {
#define PGQ_CODE(name, number, text) name = number,
#include "codes.def"
#undef PGQ_CODE
} pgq_code;

/* index: the 1-based line pointer, or array element, at which the fault was found; 0 if it belongs to none. */
typedef struct pgq_status {
    pgq_code code;
    uint32_t index;
} pgq_status;

/* An English text for a code, with what to do next; a static string, never NULL, also for a number that is no code. */
const char *pgq_strerror(pgq_code code);

/* The level in use, as a word of PGQUERN_CPU: what the CPU has and the variable allows. NULL: the word is unknown. */
const char *pgq_cpu(void);

/* A variant of a kind, without its function. supported: this CPU can run it, and PGQUERN_CPU allows it. */
typedef struct pgq_variant_info {
    const char *kind;
    const char *variant;
    bool supported;
} pgq_variant_info;

/* The variants of all kinds; i < pgq_variant_count(). Those of a kind follow each other in the order of its table. */
size_t pgq_variant_count(void);
pgq_variant_info pgq_variant_at(size_t i);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
