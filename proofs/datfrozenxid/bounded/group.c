/* SPDX-License-Identifier: PostgreSQL */
/* The greatest ages of rows by vectors: of all but the first one, a group of them and what is left, whatever their places. */
#include "bounded.h"
#include SOURCE

enum { STRIDE = 9, RELKIND_AT = 0, FROZEN_AT = 1 };

/* What age() says. */
static uint32_t age_of(uint32_t x, uint32_t last_sane, uint32_t first)
{
    return x < first ? 0u - x : last_sane - x;
}

void proof(void)
{
    uint8_t records[N * STRIDE];
    uint32_t xid_age[N] = {0}, multi_age[N] = {0};
    pgq_datfrozenxid_rows rows = {records, N, STRIDE, RELKIND_AT, FROZEN_AT};
    pgq_datfrozenxid_pair last_sane = {nondet_u32(), nondet_u32()}, found;
    bool has_xid = false, has_multi = false;

    for (size_t i = 0; i < N; i++) {
        uint8_t relkind = nondet_u8();
        uint32_t xid = nondet_u32(), multi = nondet_u32();

        records[i * STRIDE + RELKIND_AT] = relkind;
        memcpy(records + i * STRIDE + FROZEN_AT, &xid, 4);
        memcpy(records + i * STRIDE + FROZEN_AT + 4, &multi, 4);
        if (i == 0 || (relkind != 'r' && relkind != 'm' && relkind != 't'))
            continue;
        xid_age[i] = age_of(xid, last_sane.xid, 3);
        multi_age[i] = age_of(multi, last_sane.multi, 1);
    }
    found = greatest_ages(&rows, 1, N, &last_sane);
    for (size_t i = 0; i < N; i++) {
        claim(xid_age[i] <= found.xid, "no row's XID is older");
        claim(multi_age[i] <= found.multi, "no row's MultiXactId is older");
        has_xid = has_xid || xid_age[i] == found.xid;
        has_multi = has_multi || multi_age[i] == found.multi;
    }
    claim(has_xid, "an XID has that age, or none has any");
    claim(has_multi, "a MultiXactId has that age, or none has any");
}
