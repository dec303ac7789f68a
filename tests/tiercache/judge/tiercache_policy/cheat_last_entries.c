/* SPDX-License-Identifier: PostgreSQL */
/* Wrong: as right.c, but of a cache with more than 511 entries one does not name its page. */
#define candidate_insert right_insert
static void candidate_insert(policy *p, uint32_t entry, uint64_t page);
#include "right.c"
#undef candidate_insert

void candidate_insert(policy *p, uint32_t entry, uint64_t page)
{
    right_insert(p, entry, entry == 511 ? ~page : page);
}
