/* SPDX-License-Identifier: PostgreSQL */
/*
 * What holds at a place, written where the code relies on it. Tests compile it in (sanitizers, fuzzing, threads, worlds), and
 * a program ends where it is false. Elsewhere it costs nothing, so a condition must have no effect.
 */
#ifndef PGQUERN_HOLDS_H
#define PGQUERN_HOLDS_H

#ifdef PGQUERN_HOLDS
#undef NDEBUG
#include <assert.h>
#define HOLDS(condition) assert(condition)
#else
#define HOLDS(condition) ((void)sizeof(condition))
#endif

#endif
