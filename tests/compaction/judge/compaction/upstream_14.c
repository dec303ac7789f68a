/* SPDX-License-Identifier: PostgreSQL */
/* Upstream's way in PostgreSQL 14, as the table has it: a candidate that is right. */
#define pgq_compaction_pg14 candidate
#include "../../../../csrc/compaction/pg14.c"
