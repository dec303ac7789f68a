/* SPDX-License-Identifier: PostgreSQL */
/*
 * The server's own vac_update_datfrozenxid (src/backend/commands/vacuum.c), callable from SQL, and timed.
 *
 * The server exports the function and those that give its bounds, so the dynamic linker binds the names below to them. It works on the
 * current database, and may truncate pg_xact: only for a throw-away cluster.
 *
 * Sources: src/include/commands/vacuum.h, src/include/access/multixact.h, src/include/access/transam.h,
 * src/include/utils/snapmgr.h and procarray.h.
 */
#include "abi.h"

#include <time.h>

typedef uint64_t full_transaction_id; /* a struct of one uint64, passed as that on x86-64 */

void vac_update_datfrozenxid(void);
full_transaction_id ReadNextFullTransactionId(void);
uint32_t ReadNextMultiXactId(void);
uint32_t GetOldestMultiXactId(void);

#if PG_MAJOR >= 14
uint32_t GetOldestNonRemovableTransactionId(void *relation);
#else
#define PROCARRAY_FLAGS_VACUUM (0x10 | 0x02) /* PROCARRAY_FLAGS_DEFAULT | PROCARRAY_VACUUM_FLAG */
uint32_t GetOldestXmin(void *relation, int flags);
#endif

ABI_MODULE_MAGIC;

static uint32_t horizon(void)
{
#if PG_MAJOR >= 14
    return GetOldestNonRemovableTransactionId(NULL);
#else
    return GetOldestXmin(NULL, PROCARRAY_FLAGS_VACUUM);
#endif
}

/*
 * update_datfrozenxid() -> bytea: calls it. Returns the bounds that it uses, four numbers of 4 bytes: the starts of both minima and
 * the next ids, XID before MultiXactId, as they were just before.
 */
ABI_FUNCTION(update_datfrozenxid)
{
    uint32_t bounds[4] = {horizon(), GetOldestMultiXactId(), (uint32_t)ReadNextFullTransactionId(),
                          ReadNextMultiXactId()};
    abi_varlena *out = abi_new_varlena(sizeof bounds);

    (void)call;
    memcpy(out->bytes, bounds, sizeof bounds);
    vac_update_datfrozenxid();
    return (abi_datum)out;
}

/* ---- the cost of the whole function, and of the two ways to look at the pg_database row ---- */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* time_datfrozenxid(calls int) -> bigint: nanoseconds of that many calls, one after the other in one transaction. */
ABI_FUNCTION(time_datfrozenxid)
{
    int64_t start = now();

    for (int i = 0; i < (int)call->args[0].value; i++)
        vac_update_datfrozenxid();
    return (abi_datum)(now() - start);
}

enum {
    DATABASE_RELATION = 1262, /* src/include/catalog/pg_database.h */
    DATABASE_OID_INDEX = 2672,
    ANUM_OID = 1,
    BT_EQUAL = 3, /* src/include/access/stratnum.h */
    F_OIDEQ = 184,
    ROW_EXCLUSIVE_LOCK = 3,
    DATABASEOID = 21 /* src/include/utils/syscache.h of 15; other majors number their caches otherwise */
};

extern uint32_t MyDatabaseId;

void *table_open(uint32_t relation, int lock);
void table_close(void *relation, int lock);
void ScanKeyInit(void *key, int16_t attribute, uint16_t strategy, uint32_t procedure, abi_datum argument);
void systable_inplace_update_begin(void *relation, uint32_t index, bool index_ok, void *snapshot, int nkeys,
                                   const void *key, void **tuple, void **state);
void systable_inplace_update_cancel(void *state);
void heap_freetuple(void *tuple);
void *SearchSysCache1(int cache, abi_datum key);
void ReleaseSysCache(void *tuple);

/*
 * time_row(calls int) -> bigint: nanoseconds of what the function does with the pg_database row if nothing is to be written: open the
 * table, fetch the row through its index, lock tuple and buffer, copy the row, unlock, close.
 */
ABI_FUNCTION(time_row)
{
    int64_t start = now();

    for (int i = 0; i < (int)call->args[0].value; i++) {
        _Alignas(8) char key[128]; /* a ScanKeyData, 72 bytes */
        void *relation = table_open(DATABASE_RELATION, ROW_EXCLUSIVE_LOCK), *tuple, *state;

        ScanKeyInit(key, ANUM_OID, BT_EQUAL, F_OIDEQ, MyDatabaseId);
        systable_inplace_update_begin(relation, DATABASE_OID_INDEX, true, NULL, 1, key, &tuple, &state);
        if (tuple == NULL)
            abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "time_row: the database has no row");
        systable_inplace_update_cancel(state);
        heap_freetuple(tuple);
        table_close(relation, ROW_EXCLUSIVE_LOCK);
    }
    return (abi_datum)(now() - start);
}

/* time_cache(calls int) -> bigint: nanoseconds of what the patch does in its place: find the row in the syscache, and let go of it. */
ABI_FUNCTION(time_cache)
{
    int64_t start = now();

    if (PG_MAJOR != 15)
        abi_report(ABI_ERROR, ABI_INVALID_PARAMETER,
                   "time_cache: the number of the cache is known for 15 only");
    for (int i = 0; i < (int)call->args[0].value; i++) {
        void *tuple = SearchSysCache1(DATABASEOID, MyDatabaseId);

        if (tuple == NULL)
            abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "time_cache: the database has no row");
        ReleaseSysCache(tuple);
    }
    return (abi_datum)(now() - start);
}
