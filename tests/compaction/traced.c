/* SPDX-License-Identifier: PostgreSQL */
/*
 * The operations of the kernels in plain C on a page, as a filter, for tests.
 *
 * Standard input: records of 1 byte variant (0 pg13, 1 pg14, 2 scalar), 1 byte truncate, 8192 bytes page. Standard output,
 * one for each: 1 byte error code, 2 bytes index, 4 bytes number of operations; for each operation four integers of 32 bits:
 * 0 Move to from length, 1 Save to from length, 2 Restore to from length, 3 Store16 at value 0, 4 Store32 at value 0. All
 * little-endian. An address is an offset into the page. In scratch it is one from the byte that the kernel's first
 * Save goes to, plus where that Save comes from.
 */
#include "compaction/page.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum kind { MOVE, SAVE, RESTORE, STORE16, STORE32 } kind;

enum { MOST = 1 << 16 };

static uint8_t *page;
static const uint8_t *scratch;
static int32_t operations[MOST][4];
static uint32_t n;

void traced_copy(void *to, const void *from, size_t size, const char *function);

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

void traced_copy(void *to_, const void *from_, size_t size, const char *function)
{
    uint8_t *to = to_;
    const uint8_t *from = from_;

    if (strcmp(function, "store16") == 0) {
        log_operation(STORE16, to - page, load16(from), 0);
    } else if (strcmp(function, "store32") == 0) {
        log_operation(STORE32, to - page, load32(from), 0);
    } else if (strcmp(function, "store_line_pointers") == 0) {
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
        else
            abort();
    }
    memmove(to, from, size);
}

int main(void)
{
    static pgq_status (*const variants[])(void *, bool) = {pgq_compaction_pg13, pgq_compaction_pg14,
                                                           pgq_compaction_scalar};
    uint8_t record[2 + BLCKSZ];

    page = record + 2;
    while (fread(record, sizeof record, 1, stdin) == 1) {
        uint8_t head[7];
        pgq_status status;

        if (record[0] > 2)
            return 2;
        n = 0;
        scratch = NULL;
        status = variants[record[0]](page, record[1] != 0);
        head[0] = (uint8_t)status.code;
        memcpy(head + 1, &(uint16_t){(uint16_t)status.index}, 2);
        memcpy(head + 3, &n, 4);
        fwrite(head, sizeof head, 1, stdout);
        fwrite(operations, sizeof operations[0], n, stdout);
    }
    return 0;
}
