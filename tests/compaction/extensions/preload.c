/* SPDX-License-Identifier: PostgreSQL */
/*
 * preload: a test server whose PageRepairFragmentation is one of our kernels. Never for a server with data of value.
 *
 *   shared_preload_libraries = '/path/to/preload.so', PGQUERN_PRELOAD=<variant> in the postmaster's environment
 *
 * The server exports the function, and all its callers (pruning, VACUUM, their redo) go to its one entry: the first
 * bytes there are overwritten with a jump to ours. Same binary, same WAL, nothing else changed, so a difference between
 * two runs is the kernel's. Children of the postmaster inherit the jump.
 *
 * The library reports itself in the log at start. Each process logs at its end how often it ran the kernel. A start
 * fails without PGQUERN_PRELOAD, with a name that is no variant, or with a variant that this CPU cannot run. A server
 * of another major refuses the library by its magic block.
 */
#include "abi.h"
#include "pgquern.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The jump, and where in it the address of its target stands. */
#if defined(__x86_64__)
enum { JUMP = 12, TARGET_AT = 2 };
static const unsigned char jump[JUMP] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; /* mov, jmp rax */
#elif defined(__aarch64__)
enum { JUMP = 16, TARGET_AT = 8 };
static const unsigned char jump[JUMP] = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6}; /* ldr x16, .+8; br x16 */
#else
#error "the jump is written in the machine code of x86-64 and aarch64"
#endif

enum { HEADER = 24 };

void PageRepairFragmentation(void *page);
void on_proc_exit(void (*callback)(int code, abi_datum argument), abi_datum argument);
ABI_EXPORT void _PG_init(void);

ABI_MODULE_MAGIC;

static const pgq_compaction_variant *chosen;
static uint64_t calls;

static uint16_t header_field(const char *page, size_t at)
{
    uint16_t field;

    memcpy(&field, page + at, sizeof field);
    return field;
}

static uint32_t line_pointer(const char *page, uint32_t number)
{
    uint32_t word;

    memcpy(&word, page + HEADER + 4 * (number - 1), sizeof word);
    return word;
}

static uint32_t total_length(const char *page)
{
    uint32_t nline = (header_field(page, 12) - (uint32_t)HEADER) / 4, total = 0;

    for (uint32_t number = 1; number <= nline; number++) {
        uint32_t word = line_pointer(page, number);

        if ((word >> 15 & 3) != 0)
            total += ((word >> 17) + 7) & ~7u;
    }
    return total;
}

/* A refusal is reported as upstream reports it, where upstream does: ERROR, which a critical section makes PANIC. */
static void refuse(const char *page, pgq_status status)
{
    uint32_t lower = header_field(page, 12), upper = header_field(page, 14), special = header_field(page, 16);

    switch (status.code) {
    case PGQ_COMPACTION_HEADER:
        abi_report(ABI_ERROR, ABI_DATA_CORRUPTED,
                   "corrupted page pointers: lower = %u, upper = %u, special = %u", lower, upper, special);
        break;
    case PGQ_COMPACTION_LP_OFF:
        abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "corrupted line pointer: %u",
                   line_pointer(page, status.index) & 0x7fff);
        break;
    case PGQ_COMPACTION_TOTAL:
        abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "corrupted item lengths: total %u, available space %u",
                   total_length(page), special - lower);
        break;
    default:
        abi_report(ABI_ERROR, ABI_DATA_CORRUPTED, "pgquern: line pointer %u: %s", status.index,
                   pgq_strerror(status.code));
    }
}

static void say_calls(int code, abi_datum argument)
{
    (void)code, (void)argument;
    abi_report(ABI_LOG, 0, "pgquern: kernel \"%s\" compacted %llu pages in this process", chosen->name,
               (unsigned long long)calls);
}

static void replacement(void *page)
{
    pgq_status status;

    if (calls++ == 0)
        on_proc_exit(say_calls, 0);
    status = chosen->fn(page, PG_MAJOR >= 15);
    if (status.code != PGQ_OK)
        refuse(page, status);
}

static const pgq_compaction_variant *find_variant(const char *name)
{
    for (size_t i = 0; i < pgq_compaction_variant_count; i++)
        if (strcmp(pgq_compaction_variants[i].name, name) == 0 && pgq_compaction_variants[i].supported())
            return &pgq_compaction_variants[i];
    return NULL;
}

static bool write_jump(void *entry, void (*target)(void *))
{
    unsigned char code[JUMP];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)entry & ~(page - 1);
    size_t span = (uintptr_t)entry + JUMP - first;

    memcpy(code, jump, JUMP);
    memcpy(code + TARGET_AT, &target, sizeof target);
    if (mprotect((void *)first, span, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(entry, code, JUMP);
    __builtin___clear_cache(entry, (char *)entry + JUMP);
    return mprotect((void *)first, span, PROT_READ | PROT_EXEC) == 0;
}

void _PG_init(void)
{
    const char *name = getenv("PGQUERN_PRELOAD");
    void (*server_function)(void *) = PageRepairFragmentation;
    void *entry;

    chosen = name == NULL ? NULL : find_variant(name);
    if (chosen == NULL)
        abi_report(
            ABI_ERROR, ABI_INVALID_PARAMETER,
            "pgquern: PGQUERN_PRELOAD is \"%s\": it must name a compaction variant that this CPU can run",
            name == NULL ? "" : name);
    memcpy(&entry, &server_function, sizeof entry);
    if (!write_jump(entry, replacement))
        abi_report(ABI_ERROR, ABI_INVALID_PARAMETER, "pgquern: the server's code cannot be changed: %s",
                   strerror(errno));
    abi_report(ABI_LOG, 0, "pgquern: TEST SERVER: PageRepairFragmentation is replaced by kernel \"%s\"",
               name);
}
