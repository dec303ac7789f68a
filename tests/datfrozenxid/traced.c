/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the kernels in plain C load, that of AVX2 on rows, and those of NEON. Records from stdin to stdout, as those of
 * proofs/oracle/datfrozenxid_operations.ml.
 */
#include "datfrozenxid/kernels.h"

#include <accesses.h>
#include <stdio.h>

enum { RECORD = 12, IDS_AT = 4 };

static pgq_status on_array(int op, void *values, size_t n, const uint32_t a[6])
{
    pgq_datfrozenxid_bounds bounds = {a[0], a[1], a[2] == 1};
    uint32_t minimum;

    watch(0, values, n * sizeof(uint32_t), sizeof(uint32_t));
    switch (op) {
    case 0:
        return pgq_datfrozenxid_min_frozen_scan(values, n, &bounds, &minimum);
    case 1:
        return pgq_datfrozenxid_min_frozen_scalar(values, n, &bounds, &minimum);
#if defined(__aarch64__)
    case 2:
        return pgq_datfrozenxid_min_frozen_neon(values, n, &bounds, &minimum);
#endif
    default:
        return refused(PGQ_NULL, 0);
    }
}

/* The first number of a row says whether it holds ids; its first byte becomes a relkind. */
static pgq_status on_rows(int op, unsigned char *records, size_t n, const uint32_t a[6])
{
    pgq_datfrozenxid_rows rows = {records, n, RECORD, 0, IDS_AT};
    pgq_datfrozenxid_pair start = {a[0], a[1]}, last_sane = {a[2], a[3]}, minimum;

    for (size_t i = 0; i < n; i++)
        records[RECORD * i] =
            records[RECORD * i] ? (unsigned char)"rmt"[i % 3] : (unsigned char)"ivSpfcI"[i % 7];
    watch(0, records, n * RECORD, 1);
    switch (op) {
    case 4:
        return pgq_datfrozenxid_min_frozen_strided_scan(&rows, &start, &last_sane, &minimum);
    case 5:
        return pgq_datfrozenxid_min_frozen_strided_scalar(&rows, &start, &last_sane, &minimum);
#if defined(__x86_64__)
    case 6:
        return pgq_datfrozenxid_min_frozen_strided_avx2(&rows, &start, &last_sane, &minimum);
#elif defined(__aarch64__)
    case 7:
        return pgq_datfrozenxid_min_frozen_strided_neon(&rows, &start, &last_sane, &minimum);
#endif
    default:
        return refused(PGQ_NULL, 0);
    }
}

int main(void)
{
    for (int op; (op = getchar()) != EOF;) {
        uint32_t n, a[6];
        size_t size;
        void *bytes;
        pgq_code code;

        input(&n, sizeof n);
        input(a, sizeof a);
        size = op < 4 ? n * sizeof(uint32_t) : n * (size_t)RECORD;
        bytes = guarded(size);
        input(bytes, size);
        code = op < 4 ? on_array(op, bytes, n, a).code : on_rows(op, bytes, n, a).code;
        if (code != PGQ_OK && code != PGQ_DATFROZENXID_FUTURE_XID && code != PGQ_DATFROZENXID_FUTURE_MULTI) {
            fprintf(stderr, "traced: operation %d is refused with code %d\n", op, (int)code);
            return 2;
        }
        tell_operations();
        guarded_free(bytes);
    }
    return 0;
}
