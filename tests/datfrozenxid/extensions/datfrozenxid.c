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
