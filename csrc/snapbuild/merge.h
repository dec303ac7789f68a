/* SPDX-License-Identifier: PostgreSQL */
/* Insertion of a batch into a sorted array, in place: sort_batch32 and merge_batch32 for XIDs, 64 for FullTransactionIds. */
#ifndef PGQUERN_SNAPBUILD_MERGE_H
#define PGQUERN_SNAPBUILD_MERGE_H

#include "common/holds.h"
#include "snapbuild/search.h"

#include <stdbool.h>
#include <string.h>

enum {
    CHUNK = 64, /* XIDs that are sorted, or searched for, at a time */
    VECTORS = 4 /* vectors of them that are ranked at a time */
};

#define ELEMENT     uint32_t
#define SIZED(name) name##32
#include "snapbuild/merge_template.h"

#define ELEMENT     uint64_t
#define SIZED(name) name##64
#include "snapbuild/merge_template.h"

#endif
