/* SPDX-License-Identifier: PostgreSQL */
/*
 * What the kernels in plain C do to an array, one by one. They are compiled with -fsanitize=thread, by which the compiler
 * puts a call before each access to memory; here these calls are no sanitizer's, but note the access. Records from stdin
 * to stdout, as those of proofs/oracle/snapbuild_operations.ml.
 */
#include "snapbuild/known_assigned.h"
#include "snapbuild/purge.h"
#include "snapbuild/full.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOAD, STORE, MOVE };

typedef struct area {
    char *bytes;
    size_t size, width;
} area;

typedef struct operation {
    uint8_t what, array;
    uint16_t zero;
    uint32_t at, from, n;
} operation;

static area areas[2]; /* the array, and the flags */
static operation *told;
static size_t told_count, told_space;

static void tell(operation one)
{
    if (told_count == told_space) {
        told_space = told_space == 0 ? 1024 : 2 * told_space;
        told = realloc(told, told_space * sizeof *told);
        if (told == NULL)
            abort();
    }
    told[told_count++] = one;
}

/* Accesses elsewhere, to a struct of the caller's, are none of an array. */
static void access(int what, const void *address, size_t size)
{
    for (uint8_t i = 0; i < 2; i++) {
        size_t at = (size_t)((const char *)address - areas[i].bytes);

        if (areas[i].bytes == NULL || at >= areas[i].size)
            continue;
        if (size % areas[i].width != 0 || at % areas[i].width != 0) {
            fprintf(stderr, "traced: an access of %zu bytes to elements of %zu\n", size, areas[i].width);
            exit(2);
        }
        tell((operation){(uint8_t)what, i, 0, (uint32_t)(at / areas[i].width), 0,
                         (uint32_t)(size / areas[i].width)});
    }
}

void *traced_move(void *to, const void *from, size_t size)
{
    size_t width = areas[0].width;

    if (size > 0 && to != from)
        tell((operation){MOVE, 0, 0, (uint32_t)((size_t)((char *)to - areas[0].bytes) / width),
                         (uint32_t)((size_t)((const char *)from - areas[0].bytes) / width),
                         (uint32_t)(size / width)});
    return memmove(to, from, size);
}

/* What the compiler calls. */
#define ACCESSES(size)                                                                                       \
    void __tsan_read##size(void *address);                                                                   \
    void __tsan_write##size(void *address);                                                                  \
    void __tsan_read##size(void *address)                                                                    \
    {                                                                                                        \
        access(LOAD, address, size);                                                                         \
    }                                                                                                        \
    void __tsan_write##size(void *address)                                                                   \
    {                                                                                                        \
        access(STORE, address, size);                                                                        \
    }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *address, size_t size);
void __tsan_write_range(void *address, size_t size);
void __tsan_read_range(void *address, size_t size)
{
    access(LOAD, address, size);
}
void __tsan_write_range(void *address, size_t size)
{
    access(STORE, address, size);
}

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void) {}

static void input(void *to, size_t size)
{
    if (fread(to, 1, size, stdin) != size) {
        fprintf(stderr, "traced: the input ends within a record\n");
        exit(2);
    }
}

/* An array of its own, so that an access past its end is no access to the other. */
static area laid_out(size_t n, size_t width)
{
    area one = {malloc(n * width + 1), n * width, width};

    if (one.bytes == NULL)
        abort();
    for (size_t i = 0; i < n; i++) {
        uint64_t x;

        input(&x, sizeof x);
        memcpy(one.bytes + width * i, &x, width); /* little-endian: the low bytes come first */
    }
    return one;
}

static bool run(int op, size_t n, uint64_t xmin)
{
    pgq_snapbuild_committed committed = {(uint32_t *)areas[0].bytes, n, n, op == 1};
    pgq_snapbuild_committed_full full = {(uint64_t *)areas[0].bytes, 0, n, n};

    switch (op) {
    case 0:
        return pgq_snapbuild_purge_inplace(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 1:
        return pgq_snapbuild_purge_sorted_scalar(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 2:
        return pgq_snapbuild_purge_scalar(&committed, (uint32_t)xmin).code == PGQ_OK;
    case 3:
        return pgq_snapbuild_purge_full_memmove(&full, xmin).code == PGQ_OK;
    case 4:
        return pgq_snapbuild_known_assigned_upstream(committed.xip, (bool *)areas[1].bytes, 0, n) <= n;
    default:
        return false;
    }
}

int main(void)
{
    for (int op; (op = getchar()) != EOF;) {
        uint32_t counts[2], k;
        uint64_t xmin;

        input(counts, sizeof counts);
        input(&xmin, sizeof xmin);
        areas[0] = laid_out(counts[0], op == 3 ? 8 : 4);
        areas[1] = laid_out(counts[1], 1);
        told_count = 0;
        if (!run(op, counts[0], xmin)) {
            fprintf(stderr, "traced: operation %d is refused\n", op);
            exit(2);
        }
        k = (uint32_t)told_count;
        fwrite(&k, sizeof k, 1, stdout);
        fwrite(told, sizeof *told, told_count, stdout);
        for (int i = 0; i < 2; i++) {
            free(areas[i].bytes);
            areas[i].bytes = NULL;
        }
    }
    return 0;
}
