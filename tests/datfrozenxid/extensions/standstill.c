/* SPDX-License-Identifier: PostgreSQL */
/*
 * Backends that stand still: a test brings another backend to a chosen place in vac_truncate_clog by what these keep from it. To stand
 * still is to be stopped, by SIGSTOP; the test sees that the process is stopped, and sends SIGCONT. Only for a throw-away cluster.
 *
 * Sources: src/include/storage/bufmgr.h and lwlock.h, src/include/access/table.h, src/include/utils/inval.h and syscache.h;
 * src/backend/storage/lmgr/lwlocknames.txt.
 */
#include "abi.h"

#include <signal.h>

enum {
    ACCESS_SHARE_LOCK = 1,
    BUFFER_LOCK_EXCLUSIVE = 2,
    LW_EXCLUSIVE = 0,
    WRAP_LIMITS_VACUUM_LOCK = 46, /* the same in 13 to 18; the test looks at the name that a waiter shows */
    PADDED_LOCK = 128,            /* sizeof(LWLockPadded) */
    DATABASEOID = 21              /* the same in 13 to 18; the test sees that the callback is called */
};

typedef void (*syscache_callback)(abi_datum argument, int cache, uint32_t hash);

extern char *MainLWLockArray;

void *table_open(uint32_t relation, int lock);
void table_close(void *relation, int lock);
int ReadBuffer(void *relation, uint32_t block);
void LockBuffer(int buffer, int mode);
void UnlockReleaseBuffer(int buffer);
bool LWLockAcquire(void *lock, int mode);
void LWLockRelease(void *lock);
void CacheRegisterSyscacheCallback(int cache, syscache_callback callback, abi_datum argument);

ABI_MODULE_MAGIC;

/* hold_page(relation oid, block int): stands still with the page locked, so that nobody else reads it. */
ABI_FUNCTION(hold_page)
{
    void *relation = table_open((uint32_t)call->args[0].value, ACCESS_SHARE_LOCK);
    int buffer = ReadBuffer(relation, (uint32_t)call->args[1].value);

    LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
    raise(SIGSTOP);
    UnlockReleaseBuffer(buffer);
    table_close(relation, ACCESS_SHARE_LOCK);
    return 0;
}

/* hold_wrap_limits(): stands still with WrapLimitsVacuumLock, so that nobody else scans pg_database in vac_truncate_clog. */
ABI_FUNCTION(hold_wrap_limits)
{
    void *lock = MainLWLockArray + (size_t)WRAP_LIMITS_VACUUM_LOCK * PADDED_LOCK;

    (void)call;
    LWLockAcquire(lock, LW_EXCLUSIVE);
    raise(SIGSTOP);
    LWLockRelease(lock);
    return 0;
}

static bool stop_at_message;

static void at_message(abi_datum argument, int cache, uint32_t hash)
{
    (void)argument, (void)cache, (void)hash;
    if (stop_at_message)
        raise(SIGSTOP);
    stop_at_message = false;
}

/* stop_at_row(): this session stands still when it next accepts a message that a row of pg_database has changed, or its own change. */
ABI_FUNCTION(stop_at_row)
{
    static bool registered;

    (void)call;
    if (!registered)
        CacheRegisterSyscacheCallback(DATABASEOID, at_message, 0);
    registered = stop_at_message = true;
    return 0;
}
