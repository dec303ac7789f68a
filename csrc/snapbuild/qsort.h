/* SPDX-License-Identifier: PostgreSQL */
#ifndef PGQUERN_SNAPBUILD_QSORT_H
#define PGQUERN_SNAPBUILD_QSORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The algorithm of src/port/qsort.c (src/include/lib/sort_template.h) on XIDs: quicksort after Bentley and McIlroy,
 * partitioned in three, with a check for presorted input before every partition, and insertion sort below seven. It
 * differs in that the element type is known here, where upstream swaps byte by byte: this one is the faster.
 */
void pgq_snapbuild_qsort32(uint32_t *a, size_t n, int (*compare)(const void *, const void *));

/* xidComparator: by the unsigned number. */
int pgq_snapbuild_xid_comparator(const void *a, const void *b);

#endif
