/* SPDX-License-Identifier: PostgreSQL */
/* Included before a kernel, this makes each memmove of it known to traced.c. The compiler makes all other accesses known. */
#ifndef PGQUERN_TESTS_SNAPBUILD_TRACED_H
#define PGQUERN_TESTS_SNAPBUILD_TRACED_H

#include <string.h>

void *traced_move(void *to, const void *from, size_t size);

#define memmove(to, from, size) traced_move(to, from, size)

#endif
