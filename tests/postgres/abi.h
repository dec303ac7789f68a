/* SPDX-License-Identifier: PostgreSQL */
/*
 * The few pieces of the server's binary interface that the extensions here need, declared for one major: PG_MAJOR.
 *
 * Debian packages the server headers of one major alone, so these declarations are our own. They are checked in three ways:
 * - the server: it compares the magic block, length and every field, before it calls anything, and refuses the library
 *   otherwise (the tests see it refuse a library built for the neighbouring major);
 * - the compiler: abi_check.c holds each declaration against Debian's headers of its major, field by field;
 * - the majors differ in these pieces in two places only, and both are spelled out below: the magic block (three
 *   layouts) and the number of ERROR (two).
 *
 * Sources: src/include/fmgr.h (call convention version 1, magic block), src/include/postgres.h (varlena),
 * src/include/utils/elog.h (levels), src/include/utils/palloc.h.
 */
#ifndef PGQUERN_ABI_H
#define PGQUERN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(PG_MAJOR) || PG_MAJOR < 13 || PG_MAJOR > 18
#error "PG_MAJOR must be 13 to 18: these declarations were checked against no other server"
#endif

#define ABI_EXPORT __attribute__((visibility("default")))

/* ---- the magic block ---- */

/* Up to 14: six ints. 15 adds a name for forks. 18 puts the library's own name and version behind them. */
typedef struct abi_magic {
    int len;
    int version; /* PG_VERSION_NUM / 100 */
    int funcmaxargs;
    int indexmaxkeys;
    int namedatalen;
    int float8byval;
#if PG_MAJOR >= 15
    char extra[32];
#endif
#if PG_MAJOR >= 18
    const char *name;
    const char *module_version;
#endif
} abi_magic;

#define ABI_MAGIC_VERSION (PG_MAJOR * 100)

#if PG_MAJOR >= 15
#define ABI_MAGIC_EXTRA , .extra = "PostgreSQL"
#else
#define ABI_MAGIC_EXTRA
#endif

#define ABI_MODULE_MAGIC                                                                                     \
    ABI_EXPORT const abi_magic *Pg_magic_func(void);                                                         \
    const abi_magic *Pg_magic_func(void)                                                                     \
    {                                                                                                        \
        static const abi_magic magic = {.len = sizeof(abi_magic),                                            \
                                        .version = ABI_MAGIC_VERSION,                                        \
                                        .funcmaxargs = 100,                                                  \
                                        .indexmaxkeys = 32,                                                  \
                                        .namedatalen = 64,                                                   \
                                        .float8byval = 1 ABI_MAGIC_EXTRA};                                   \
        return &magic;                                                                                       \
    }                                                                                                        \
    _Static_assert(true, "")

/* ---- functions called from SQL ---- */

typedef uintptr_t abi_datum;

typedef struct abi_argument {
    abi_datum value;
    bool isnull;
} abi_argument;

typedef struct abi_call {
    void *flinfo;
    void *context;
    void *resultinfo;
    uint32_t fncollation;
    bool isnull;
    short nargs;
    abi_argument args[];
} abi_call;

typedef struct abi_function_info {
    int api_version;
} abi_function_info;

#define ABI_FUNCTION(function)                                                                               \
    ABI_EXPORT const abi_function_info *pg_finfo_##function(void);                                           \
    const abi_function_info *pg_finfo_##function(void)                                                       \
    {                                                                                                        \
        static const abi_function_info info = {1};                                                           \
        return &info;                                                                                        \
    }                                                                                                        \
    ABI_EXPORT abi_datum function(abi_call *call);                                                           \
    abi_datum function(abi_call *call)

/* ---- bytea and text: a word of length * 4 (its own 4 bytes included), then the bytes ---- */

typedef struct abi_varlena {
    uint32_t word;
    char bytes[];
} abi_varlena;

abi_varlena *pg_detoast_datum(abi_varlena *datum); /* the plain form, 4-byte header, aligned to 4 */
void *palloc(size_t size);                         /* MAXALIGNed; freed at the end of the statement */

static inline abi_varlena *abi_argument_varlena(const abi_call *call, int number)
{
    return pg_detoast_datum((abi_varlena *)call->args[number].value);
}

static inline size_t abi_varlena_size(const abi_varlena *datum)
{
    return (datum->word >> 2) - sizeof(uint32_t);
}

static inline abi_varlena *abi_new_varlena(size_t size)
{
    abi_varlena *result = palloc(sizeof(uint32_t) + size);

    result->word = (uint32_t)(sizeof(uint32_t) + size) << 2;
    return result;
}

/* ---- the head of the shared variables that assign OIDs and XIDs ---- */

typedef struct abi_transam {
    uint32_t nextOid;
    uint32_t oidCount;
    uint64_t nextXid; /* epoch << 32 | xid */
    uint32_t oldestXid;
} abi_transam;

/* ---- reports ---- */

#define ABI_LOG 15
#if PG_MAJOR >= 14
#define ABI_ERROR 21
#else
#define ABI_ERROR 20
#endif
/* SQLSTATE: five characters, six bits each, the first one lowest. */
#define ABI_SIX(c) (((c) - '0') & 0x3f)
#define ABI_SQLSTATE(a, b, c, d, e)                                                                          \
    (ABI_SIX(a) + (ABI_SIX(b) << 6) + (ABI_SIX(c) << 12) + (ABI_SIX(d) << 18) + (ABI_SIX(e) << 24))
#define ABI_DATA_CORRUPTED    ABI_SQLSTATE('X', 'X', '0', '0', '1')
#define ABI_INVALID_PARAMETER ABI_SQLSTATE('2', '2', '0', '2', '3')

bool errstart(int level, const char *domain);
int errcode(int sqlstate);
int errmsg_internal(const char *format, ...) __attribute__((format(printf, 1, 2)));
void errfinish(const char *file, int line,
               const char *function); /* does not return from ERROR; PANIC in a critical section */

#define abi_report(level, sqlstate, ...)                                                                     \
    do {                                                                                                     \
        if (errstart((level), NULL)) {                                                                       \
            if ((level) >= ABI_ERROR)                                                                        \
                errcode(sqlstate);                                                                           \
            errmsg_internal(__VA_ARGS__);                                                                    \
            errfinish(__FILE__, __LINE__, __func__);                                                         \
        }                                                                                                    \
    } while (0)

#endif
