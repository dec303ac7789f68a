/* SPDX-License-Identifier: PostgreSQL */
/*
 * take_multis(count int): assigns that many MultiXactIds, as lockers of as many rows would. Nobody asks for their members, so these
 * may be any XIDs; no two sets are equal, since the server would give the same MultiXactId again. Only for a throw-away cluster.
 *
 * Source: src/include/access/multixact.h.
 */
#include "abi.h"

enum { FOR_KEY_SHARE = 0, FIRST_NORMAL_XID = 3 };

void MultiXactIdSetOldestMember(void);
uint32_t MultiXactIdCreate(uint32_t xid1, int status1, uint32_t xid2, int status2);

ABI_MODULE_MAGIC;

ABI_FUNCTION(take_multis)
{
    uint32_t count = (uint32_t)call->args[0].value;

    MultiXactIdSetOldestMember();
    for (uint32_t i = 1; i <= count; i++)
        MultiXactIdCreate(FIRST_NORMAL_XID, FOR_KEY_SHARE, FIRST_NORMAL_XID + i, FOR_KEY_SHARE);
    return 0;
}
