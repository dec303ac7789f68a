/* SPDX-License-Identifier: PostgreSQL */
/*
 * What holds at a place, written where the code relies on it. Tests compile it in (sanitizers, fuzzing, threads, worlds), and
 * a program ends where it is false. Elsewhere it costs nothing, so a condition must have no effect.
 *
 * IS_LOCKED: who reads or writes here needs the mutex. In a world it is this thread that holds it; elsewhere some thread does, since a
 * mutex says no more. A condition must not load an atomic: in a world another thread may go on there.
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

#ifndef IS_LOCKED
#define IS_LOCKED(mutex) (pthread_mutex_trylock(mutex) != 0)
#endif

#endif
