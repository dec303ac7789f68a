/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's way in PostgreSQL 13, as the table has it: a candidate that is right. */
#define pgq_compaction_pg13 candidate
#include "../../../../csrc/compaction/pg13.c"
