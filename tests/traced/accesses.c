/* SPDX-License-Identifier: PostgreSQL */
#include "accesses.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOAD, STORE, MOVE };

enum { GUARD = 64 };

typedef struct array {
    char *bytes;
    size_t size, width;
} array;

typedef struct operation {
    uint8_t what, array;
    uint16_t zero;
    uint32_t at, from, n;
} operation;

static array arrays[TRACED_ARRAYS];
static operation *told;
static size_t told_count, told_space;
/* What the next allocation is watched as. */
static unsigned allocated;
static size_t allocated_width;

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

static void fault(const char *what)
{
    fprintf(stderr, "traced: %s\n", what);
    exit(TRACED_FAULT);
}

/* The array that an access is to, and its place there; none: elsewhere, to a struct of the caller's. */
static bool find(const void *address, size_t size, uint8_t *number, uint32_t *at)
{
    for (uint8_t i = 0; i < TRACED_ARRAYS; i++) {
        uintptr_t begin = (uintptr_t)arrays[i].bytes, end = begin + arrays[i].size;
        uintptr_t first = (uintptr_t)address;

        if (begin == 0 || first + size <= begin - GUARD || first >= end + GUARD)
            continue;
        if (first < begin || first + size > end)
            fault("an access outside an array");
        if (size % arrays[i].width != 0 || (first - begin) % arrays[i].width != 0)
            fault("an access to a part of an element");
        *number = i;
        *at = (uint32_t)((first - begin) / arrays[i].width);
        return true;
    }
    return false;
}

static void access(int what, const void *address, size_t size)
{
    uint8_t i;
    uint32_t at;

    if (size > 0 && find(address, size, &i, &at))
        tell((operation){(uint8_t)what, i, 0, at, 0, (uint32_t)(size / arrays[i].width)});
}

/* calls.h puts these in the place of the C library's. */
void *traced_copy(void *to, const void *from, size_t size);
void *traced_move(void *to, const void *from, size_t size);
void *traced_setting(void *to, int byte, size_t size);
void *traced_allocation(size_t size);
void traced_free(void *bytes);
void traced_lanes_read(unsigned mask, const void *lanes, size_t width);
void traced_lanes_written(unsigned mask, const void *lanes, size_t width);

/* The C library need not copy between places that overlap. */
void *traced_copy(void *to, const void *from, size_t size)
{
    uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;

    if (a < b + size && b < a + size)
        fault("memcpy between places that overlap");
    access(LOAD, from, size);
    access(STORE, to, size);
    return memcpy(to, from, size);
}

void *traced_move(void *to, const void *from, size_t size)
{
    uint8_t i, j;
    uint32_t to_at, from_at;

    if (size > 0 && find(to, size, &i, &to_at) && find(from, size, &j, &from_at) && i == j) {
        if (to_at != from_at)
            tell((operation){MOVE, i, 0, to_at, from_at, (uint32_t)(size / arrays[i].width)});
    } else {
        access(LOAD, from, size);
        access(STORE, to, size);
    }
    return memmove(to, from, size);
}

void *traced_setting(void *to, int byte, size_t size)
{
    access(STORE, to, size);
    return memset(to, byte, size);
}

void *traced_allocation(size_t size)
{
    void *bytes = guarded(size);

    if (allocated_width == 0)
        fault("an allocation that is not expected");
    watch(allocated, bytes, size, allocated_width);
    allocated_width = 0;
    return bytes;
}

void traced_free(void *bytes)
{
    for (int i = 0; i < TRACED_ARRAYS; i++)
        if (arrays[i].bytes == bytes)
            arrays[i].bytes = NULL;
    guarded_free(bytes);
}

static void lanes_accessed(int what, unsigned mask, const char *lanes, size_t width)
{
    for (; mask != 0; mask >>= 1, lanes += width)
        if (mask & 1)
            access(what, lanes, width);
}

void traced_lanes_read(unsigned mask, const void *lanes, size_t width)
{
    lanes_accessed(LOAD, mask, lanes, width);
}

void traced_lanes_written(unsigned mask, const void *lanes, size_t width)
{
    lanes_accessed(STORE, mask, lanes, width);
}

void *guarded(size_t size)
{
    char *room = malloc(size + 2 * (size_t)GUARD);

    if (room == NULL)
        abort();
    return room + GUARD;
}

void guarded_free(void *bytes)
{
    free((char *)bytes - GUARD);
}

/* What the compiler calls. */
#define ACCESSES(kind, size)                                                                                 \
    void __tsan_##kind##read##size(void *address);                                                           \
    void __tsan_##kind##write##size(void *address);                                                          \
    void __tsan_##kind##read##size(void *address)                                                            \
    {                                                                                                        \
        access(LOAD, address, size);                                                                         \
    }                                                                                                        \
    void __tsan_##kind##write##size(void *address)                                                           \
    {                                                                                                        \
        access(STORE, address, size);                                                                        \
    }
ACCESSES(, 1)
ACCESSES(, 2)
ACCESSES(, 4)
ACCESSES(, 8)
ACCESSES(, 16)
ACCESSES(unaligned_, 2)
ACCESSES(unaligned_, 4)
ACCESSES(unaligned_, 8)
ACCESSES(unaligned_, 16)

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

void watch(unsigned number, void *bytes, size_t size, size_t width)
{
    arrays[number] = (array){bytes, size, width};
}

void watch_allocated(unsigned number, size_t width)
{
    allocated = number;
    allocated_width = width;
}

void tell_operations(void)
{
    uint32_t k = (uint32_t)told_count;

    fwrite(&k, sizeof k, 1, stdout);
    fwrite(told, sizeof *told, told_count, stdout);
    told_count = 0;
    memset(arrays, 0, sizeof arrays);
    allocated_width = 0;
}

void input(void *to, size_t size)
{
    if (fread(to, 1, size, stdin) != size)
        fault("the input ends within a record");
}
