/* SPDX-License-Identifier: PostgreSQL */
/*
 * set_next_xid(next bigint, oldest bigint): puts a test cluster next to the wrap, as pg_resetwal -x -u would. The
 * embedded servers have no pg_resetwal. Never for a cluster with data of value.
 *
 * Writes nextXid (a FullTransactionId, epoch << 32 | xid) and oldestXid of the server's shared variables
 * (src/include/access/transam.h: TransamVariables, before 17 ShmemVariableCache), which the next checkpoint puts into the
 * control file. Everything derived from them is stale until the restart that must follow at once; before it, pg_xact
 * needs a segment for the new XIDs.
 */
#include "abi.h"

#if PG_MAJOR >= 17
#define ABI_VARIABLES TransamVariables
#else
#define ABI_VARIABLES ShmemVariableCache
#endif

extern abi_transam *ABI_VARIABLES;

ABI_MODULE_MAGIC;

ABI_FUNCTION(set_next_xid)
{
    ABI_VARIABLES->nextXid = call->args[0].value;
    ABI_VARIABLES->oldestXid = (uint32_t)call->args[1].value;
    return 0;
}
