/* SPDX-License-Identifier: PostgreSQL */
/* The purge of committed transactions of a tree of PostgreSQL's, as a kernel: upstream.h is what was cut out of it. */
#include "snapbuild/snapbuild.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define Assert(holds)                      assert(holds)
#define TransactionIdIsNormal(xid)         ((xid) >= 3)
#define NormalTransactionIdPrecedes(a, b)  ((int32_t)((a) - (b)) < 0)
#define TransactionIdPrecedes(a, b)        NormalTransactionIdPrecedes(a, b)
#define TransactionIdFollowsOrEquals(a, b) (!NormalTransactionIdPrecedes(a, b))
#define MemoryContextAlloc(context, size)  malloc(size)
#define palloc(size)                       malloc(size)
#define pfree(block)                       free(block)
#define elog(...)                          ((void)0)
#define unlikely(x)                        __builtin_expect((x) != 0, 0)
#define likely(x)                          __builtin_expect((x) != 0, 1)

typedef uint32_t uint32, TransactionId;
typedef int32_t int32;
typedef uint64_t uint64;
typedef size_t Size;

/* What the function looks at of upstream's struct. */
typedef struct SnapBuild {
    void *context;
    TransactionId xmin, xmax;
    struct {
        size_t xcnt, xcnt_space;
        bool includes_all_transactions;
        TransactionId *xip;
    } committed;
    struct {
        size_t xcnt;
        TransactionId *xip;
    } catchange;
} SnapBuild;

/* 13 to 15: none. */
static TransactionId *InitialRunningXacts;
static int NInitialRunningXacts;

#include "upstream.h"

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    if (committed == NULL)
        return (pgq_status){PGQ_NULL, 0};
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > (size_t)1 << 28)
        return (pgq_status){PGQ_SNAPBUILD_CAPACITY, 0};
    if (committed->xip == NULL && committed->xcnt_space > 0)
        return (pgq_status){PGQ_NULL, 0};
    SnapBuild builder = {
        .xmin = xmin,
        .committed = {.xcnt = committed->xcnt, .xcnt_space = committed->xcnt_space, .xip = committed->xip}};
    (void)InitialRunningXacts, (void)NInitialRunningXacts;
    UPSTREAM(&builder);
    committed->xcnt = builder.committed.xcnt;
    return (pgq_status){PGQ_OK, 0};
}
