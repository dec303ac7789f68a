/* SPDX-License-Identifier: PostgreSQL */
#ifndef PGQUERN_SNAPBUILD_QSORT_H
#define PGQUERN_SNAPBUILD_QSORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts XIDs as upstream's qsort does: common/quicksort_template.h.
 */
void pgq_snapbuild_qsort32(uint32_t *a, size_t n, int (*compare)(const void *, const void *));

/* xidComparator: by the unsigned number. */
int pgq_snapbuild_xid_comparator(const void *a, const void *b);

#endif
