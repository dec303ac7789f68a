/* SPDX-License-Identifier: PostgreSQL */
/*
 * What a kernel in plain C does to arrays, one by one. It is compiled with -fsanitize=thread, by which the compiler puts a call
 * before each access to memory; here these calls are no sanitizer's, but note the access. A program that includes this
 * reads questions from stdin, and tells the operations of each.
 */
#ifndef PGQUERN_TESTS_TRACED_ACCESSES_H
#define PGQUERN_TESTS_TRACED_ACCESSES_H

#include <stddef.h>

enum { TRACED_ARRAYS = 2, TRACED_FAULT = 3 };

/* Memory with a guard before and behind it. */
void *guarded(size_t size);
void guarded_free(void *bytes);

/*
 * From here on accesses to these guarded bytes, in elements of `width`, are told as those of array `number`. The program ends
 * with TRACED_FAULT at an access to a guard, also a part of one, and at one that is not of whole elements.
 */
void watch(unsigned number, void *bytes, size_t size, size_t width);

/* The same for the array that the kernel allocates; it may allocate no other. */
void watch_allocated(unsigned number, size_t width);

/*
 * To stdout: how many operations there were since the last call (4 bytes), and 16 bytes for each: what (0 load, 1 store,
 * 2 move within an array), number of the array, 2 bytes of zero, at, from, how many elements (4 bytes each). A move that
 * changes nothing is left out. Then nothing is watched any more.
 */
void tell_operations(void);

/* From stdin, all of it; the program ends with TRACED_FAULT where there is less. */
void input(void *to, size_t size);

#endif
