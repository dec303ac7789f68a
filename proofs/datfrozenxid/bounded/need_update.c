/* SPDX-License-Identifier: PostgreSQL */
/* Whether a column takes the new minimum, for all ids: no bound, since there is no loop. As vac_update_datfrozenxid says it. */
#include "bounded.h"
#include "datfrozenxid/kernels.h"

/* TransactionIdPrecedes and MultiXactIdPrecedes. */
static bool xid_before(uint32_t a, uint32_t b)
{
    return a >= 3 && b >= 3 ? normal_precedes(a, b) : a < b;
}

static bool multi_before(uint32_t a, uint32_t b)
{
    return normal_precedes(a, b);
}

void proof(void)
{
    pgq_datfrozenxid_pair stored = {nondet_u32(), nondet_u32()}, minimum = {nondet_u32(), nondet_u32()};
    pgq_datfrozenxid_pair last_sane = {nondet_u32(), nondet_u32()};
    pgq_datfrozenxid_changes changes;
    bool bounds = minimum.xid >= 3 && last_sane.xid >= 3 && minimum.multi >= 1 && last_sane.multi >= 1 &&
                  last_sane.xid - minimum.xid < 0x80000000u && last_sane.multi - minimum.multi < 0x80000000u;
    pgq_status status = NEED_UPDATE(&stored, &minimum, &last_sane, &changes);

    claim((status.code == PGQ_OK) == bounds, "the call is accepted if and only if the minimum is a bound");
    if (status.code != PGQ_OK)
        return;
    claim(changes.xid == (stored.xid != minimum.xid &&
                          (xid_before(stored.xid, minimum.xid) || xid_before(last_sane.xid, stored.xid))),
          "datfrozenxid changes if it is older than the minimum, or lies in the future");
    claim(changes.multi == (stored.multi != minimum.multi &&
                            (multi_before(stored.multi, minimum.multi) || multi_before(last_sane.multi, stored.multi))),
          "datminmxid changes if it is older than the minimum, or lies in the future");
}
