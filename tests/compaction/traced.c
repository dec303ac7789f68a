/* SPDX-License-Identifier: PostgreSQL */
/*
 * The operations of the kernels on a page, as a filter, for tests.
 *
 * Standard input: records of 1 byte variant (0 pg13, 1 pg14, 2 scalar, 3 avx2, 4 avx512, 5 neon), 1 byte truncate, 8192
 * bytes page. Exit code 3: there is no such variant, or this CPU cannot run it. Standard output, one for each: 1 byte error code,
 * 2 bytes index, 4 bytes number of operations; for each operation four integers of 32 bits: 0 Move to from length, 1 Save to
 * from length, 2 Restore to from length, 3 Store16 at value 0, 4 Store32 at value 0. All little-endian. An address is an offset
 * into the page. In scratch it is one from the byte that the kernel's first Save goes to, plus where that Save comes from.
 *
 * Of avx2 and avx512 it tells where they read (1, with `to` 0) and write (2, with `from` 0) tuples, and no stores: what lies
 * in a register is unknown. They go by the function of the kernel: those that read or write line pointers do not
 * count. Of neon it tells so of registers, and all else as of the kernels in plain C.
 */
#include "compaction/page.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum kind { MOVE, SAVE, RESTORE, STORE16, STORE32 } kind;

enum { MOST = 1 << 16 };

static uint8_t *page;
static uint32_t lower;  /* pd_lower, before */
static bool by_vectors; /* the kernel copies by vectors, too */
static const uint8_t *scratch;
static int32_t operations[MOST][4];
static uint32_t n;

void traced_copy(void *to, const void *from, size_t size, const char *function);
const void *traced_load(const void *from, size_t size, const char *function);
void *traced_store(void *to, size_t size, const char *function);

static void log_operation(kind kind, intptr_t a, intptr_t b, size_t c)
{
    if (n == MOST)
        abort();
    operations[n][0] = (int32_t)kind;
    operations[n][1] = (int32_t)a;
    operations[n][2] = (int32_t)b;
    operations[n++][3] = (int32_t)c;
}

static bool in_page(const uint8_t *p)
{
    return p >= page && p < page + BLCKSZ;
}

static intptr_t in_scratch(const uint8_t *p)
{
    return (intptr_t)p - (intptr_t)scratch;
}

/* Is it a function that reads or writes line pointers or the header? */
static bool of_no_tuple(const char *function)
{
    static const char *const functions[] = {"load16",
                                            "load32",
                                            "store16",
                                            "store32",
                                            "scan_few",
                                            "scan_vector",
                                            "scan_line_pointers",
                                            "store_line_pointers",
                                            "put_line_pointers",
                                            "load_halves"};

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strcmp(function, functions[i]) == 0)
            return true;
    return false;
}

const void *traced_load(const void *from, size_t size, const char *function)
{
    if (in_page(from) && !of_no_tuple(function))
        log_operation(SAVE, 0, (const uint8_t *)from - page, size);
    return from;
}

void *traced_store(void *to, size_t size, const char *function)
{
    bool line_pointer = strcmp(function, "copy32") == 0 && (uint8_t *)to < page + lower;

    if (in_page(to) && !line_pointer && !of_no_tuple(function))
        log_operation(RESTORE, (uint8_t *)to - page, 0, size);
    return to;
}

/* Is it a function that copies all line pointers, and no tuple? */
static bool of_all_line_pointers(const char *function)
{
    return strcmp(function, "store_line_pointers") == 0 || strcmp(function, "pgq_compaction_neon") == 0;
}

void traced_copy(void *to_, const void *from_, size_t size, const char *function)
{
    uint8_t *to = to_;
    const uint8_t *from = from_;

    if (by_vectors) {
        traced_load(from, size, function);
        traced_store(to, size, function);
    } else if (strcmp(function, "store16") == 0) {
        log_operation(STORE16, to - page, load16(from), 0);
    } else if (strcmp(function, "store32") == 0) {
        log_operation(STORE32, to - page, load32(from), 0);
    } else if (of_all_line_pointers(function)) {
        for (size_t i = 0; i < size; i += 4)
            log_operation(STORE32, to - page + (intptr_t)i, load32(from + i), 0);
    } else if (strcmp(function, "load16") != 0 && strcmp(function, "load32") != 0) {
        if (in_page(from) && !in_page(to) && scratch == NULL)
            scratch = to - (from - page);
        if (in_page(from) && in_page(to))
            log_operation(MOVE, to - page, from - page, size);
        else if (in_page(from))
            log_operation(SAVE, in_scratch(to), from - page, size);
        else if (in_page(to))
            log_operation(RESTORE, to - page, in_scratch(from), size);
        else if (strcmp(function, "move_runs") != 0) /* it reads a list of gaps */
            abort();
    }
    memmove(to, from, size);
}

/* The variant of that number, as above; NULL if this CPU cannot run it. */
static pgq_compaction_fn variant(uint8_t number)
{
    static const char *const names[] = {"pg13", "pg14", "scalar", "avx2", "avx512", "neon"};

    for (size_t i = 0; number < sizeof names / sizeof names[0] && i < pgq_compaction_variant_count; i++)
        if (strcmp(pgq_compaction_variants[i].name, names[number]) == 0 &&
            pgq_compaction_variants[i].supported())
            return pgq_compaction_variants[i].fn;
    return NULL;
}

int main(void)
{
    uint8_t record[2 + BLCKSZ];

    page = record + 2;
    while (fread(record, sizeof record, 1, stdin) == 1) {
        pgq_compaction_fn kernel = variant(record[0]);
        uint8_t head[7];
        pgq_status status;

        if (kernel == NULL)
            return 3;
        by_vectors = record[0] == 3 || record[0] == 4;
        lower = load16(page + PD_LOWER);
        n = 0;
        scratch = NULL;
        status = kernel(page, record[1] != 0);
        head[0] = (uint8_t)status.code;
        memcpy(head + 1, &(uint16_t){(uint16_t)status.index}, 2);
        memcpy(head + 3, &n, 4);
        fwrite(head, sizeof head, 1, stdout);
        fwrite(operations, sizeof operations[0], n, stdout);
    }
    return 0;
}
