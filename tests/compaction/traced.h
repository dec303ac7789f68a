/* SPDX-License-Identifier: PostgreSQL */
/*
 * Included before a kernel in plain C, this makes each memcpy and memmove of it known to traced.c. Such a kernel touches a
 * page and its scratch area by nothing else.
 */
#ifndef PGQUERN_TESTS_COMPACTION_TRACED_H
#define PGQUERN_TESTS_COMPACTION_TRACED_H

#include <string.h>

void traced_copy(void *to, const void *from, size_t size, const char *function);

#define memcpy(to, from, size)  traced_copy(to, from, size, __func__)
#define memmove(to, from, size) traced_copy(to, from, size, __func__)

#endif
