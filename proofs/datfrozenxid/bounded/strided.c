/* SPDX-License-Identifier: PostgreSQL */
/* The oldest ids of the rows that hold some, and of the start; or the first row with an id that lies in the future. */
#include "bounded.h"
#include "datfrozenxid/kernels.h"

/* As a row of pg_class may lie in memory: the ids aligned to nothing. */
enum { STRIDE = 11, RELKIND_AT = 1, FROZEN_AT = 3 };

/* TransactionIdPrecedes and MultiXactIdPrecedes. */
static bool before(uint32_t a, uint32_t b, bool multixact)
{
    return multixact || (a >= 3 && b >= 3) ? normal_precedes(a, b) : a < b;
}

static bool bounds(uint32_t start, uint32_t last_sane, uint32_t first)
{
    return start >= first && last_sane >= first && last_sane - start < 0x80000000u;
}

static void minimum_of(size_t n)
{
    uint8_t records[(N + 1) * STRIDE];
    uint32_t xid[N + 1], multi[N + 1];
    pgq_datfrozenxid_rows rows = {records, n, STRIDE, RELKIND_AT, FROZEN_AT};
    pgq_datfrozenxid_pair start = {nondet_u32(), nondet_u32()}, last_sane = {nondet_u32(), nondet_u32()};
    pgq_datfrozenxid_pair was = {nondet_u32(), nondet_u32()}, minimum = was, oldest = start;
    pgq_code code = PGQ_OK;
    size_t future = 0;
    pgq_status status;

    for (size_t i = 0; i < n; i++) {
        records[i * STRIDE + RELKIND_AT] = nondet_u8();
        xid[i] = nondet_u32(), multi[i] = nondet_u32();
        memcpy(records + i * STRIDE + FROZEN_AT, &xid[i], 4);
        memcpy(records + i * STRIDE + FROZEN_AT + 4, &multi[i], 4);
    }
    assume(bounds(start.xid, last_sane.xid, 3) && bounds(start.multi, last_sane.multi, 1));
    status = MIN_FROZEN(&rows, &start, &last_sane, &minimum);

    for (size_t i = 0; i < n && future == 0; i++) {
        uint8_t relkind = records[i * STRIDE + RELKIND_AT];

        if (relkind != 'r' && relkind != 'm' && relkind != 't')
            continue;
        if (xid[i] != 0 && before(last_sane.xid, xid[i], false))
            future = i + 1, code = PGQ_DATFROZENXID_FUTURE_XID;
        else if (multi[i] != 0 && before(last_sane.multi, multi[i], true))
            future = i + 1, code = PGQ_DATFROZENXID_FUTURE_MULTI;
        if (xid[i] != 0 && before(xid[i], oldest.xid, false))
            oldest.xid = xid[i];
        if (multi[i] != 0 && before(multi[i], oldest.multi, true))
            oldest.multi = multi[i];
    }
    claim(status.code == code, "it is refused if and only if a row's id lies in the future, its XID first");
    claim(status.index == future, "the refusal names the first such row");
    claim(minimum.xid == (future == 0 ? oldest.xid : was.xid), "the XID is the oldest, and is written only if all is well");
    claim(minimum.multi == (future == 0 ? oldest.multi : was.multi),
          "the MultiXactId is the oldest, and is written only if all is well");
}

void proof(void)
{
    for (size_t n = 0; n <= N; n++)
        minimum_of(n);
}
