/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before a kernel, this makes each memcpy, memmove and memset of it known to accesses.c, and each array that it
 * allocates. The compiler makes all other accesses known.
 */
#ifndef PGQUERN_TESTS_TRACED_CALLS_H
#define PGQUERN_TESTS_TRACED_CALLS_H

#include <stdlib.h>
#include <string.h>

void *traced_copy(void *to, const void *from, size_t size);
void *traced_move(void *to, const void *from, size_t size);
void *traced_setting(void *to, int byte, size_t size);
void *traced_allocation(size_t size);
void traced_free(void *bytes);

#define memcpy(to, from, size)  traced_copy(to, from, size)
#define memmove(to, from, size) traced_move(to, from, size)
#define memset(to, byte, size)  traced_setting(to, byte, size)
#define malloc(size)            traced_allocation(size)
#define free(bytes)             traced_free(bytes)

#endif
