/* SPDX-License-Identifier: PostgreSQL */
/* Holds abi.h against the headers of Debian's server, PG_MAJOR: compiled, never linked. */
#include "postgres.h"
#include "fmgr.h"
#include "access/transam.h"
#include "utils/elog.h"

/* The server's headers declare these functions too, with their own types. */
#define pg_detoast_datum abi_declared_detoast
#define palloc           abi_declared_palloc
#define errstart         abi_declared_errstart
#define errcode          abi_declared_errcode
#define errmsg_internal  abi_declared_errmsg
#define errfinish        abi_declared_errfinish
#include "abi.h"
#undef pg_detoast_datum
#undef palloc
#undef errstart
#undef errcode
#undef errmsg_internal
#undef errfinish

#define SAME_FIELD(ours, our_field, theirs, their_field)                                                     \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) &&                             \
                       sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field),                 \
                   #ours "." #our_field)
#define SAME(a, b) _Static_assert((a) == (b), #a)

SAME(sizeof(abi_magic), sizeof(Pg_magic_struct));
SAME_FIELD(abi_magic, len, Pg_magic_struct, len);
SAME_FIELD(abi_magic, version, Pg_magic_struct, version);
SAME_FIELD(abi_magic, funcmaxargs, Pg_magic_struct, funcmaxargs);
SAME_FIELD(abi_magic, indexmaxkeys, Pg_magic_struct, indexmaxkeys);
SAME_FIELD(abi_magic, namedatalen, Pg_magic_struct, namedatalen);
SAME_FIELD(abi_magic, float8byval, Pg_magic_struct, float8byval);
SAME_FIELD(abi_magic, extra, Pg_magic_struct, abi_extra);
SAME(ABI_MAGIC_VERSION, PG_VERSION_NUM / 100);

SAME(sizeof(abi_datum), sizeof(Datum));
SAME(sizeof(abi_argument), sizeof(NullableDatum));
SAME_FIELD(abi_argument, value, NullableDatum, value);
SAME_FIELD(abi_argument, isnull, NullableDatum, isnull);
SAME(sizeof(abi_call), sizeof(FunctionCallInfoBaseData));
SAME_FIELD(abi_call, flinfo, FunctionCallInfoBaseData, flinfo);
SAME_FIELD(abi_call, context, FunctionCallInfoBaseData, context);
SAME_FIELD(abi_call, resultinfo, FunctionCallInfoBaseData, resultinfo);
SAME_FIELD(abi_call, fncollation, FunctionCallInfoBaseData, fncollation);
SAME_FIELD(abi_call, isnull, FunctionCallInfoBaseData, isnull);
SAME_FIELD(abi_call, nargs, FunctionCallInfoBaseData, nargs);
SAME(offsetof(abi_call, args), offsetof(FunctionCallInfoBaseData, args));
SAME(sizeof(abi_function_info), sizeof(Pg_finfo_record));
SAME(VARHDRSZ, sizeof(uint32_t));
SAME(offsetof(abi_varlena, bytes), VARHDRSZ);

#if PG_MAJOR >= 17
typedef TransamVariablesData transam;
#else
typedef VariableCacheData transam;
#endif
SAME_FIELD(abi_transam, nextOid, transam, nextOid);
SAME_FIELD(abi_transam, oidCount, transam, oidCount);
SAME_FIELD(abi_transam, nextXid, transam, nextXid);
SAME_FIELD(abi_transam, oldestXid, transam, oldestXid);

SAME(ABI_LOG, LOG);
SAME(ABI_ERROR, ERROR);
SAME(ABI_DATA_CORRUPTED, ERRCODE_DATA_CORRUPTED);
SAME(ABI_INVALID_PARAMETER, ERRCODE_INVALID_PARAMETER_VALUE);

/* Signatures: taking an address with the wrong type is an error under -Werror. */
bool (*const check_errstart)(int, const char *) = errstart;
int (*const check_errcode)(int) = errcode;
int (*const check_errmsg)(const char *, ...) = errmsg_internal;
void (*const check_errfinish)(const char *, int, const char *) = errfinish;
void *(*const check_palloc)(size_t) = palloc;
struct varlena *(*const check_detoast)(struct varlena *) = pg_detoast_datum;
