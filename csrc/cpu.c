/* SPDX-License-Identifier: PostgreSQL */
#include "dispatch.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

/* XCR0: which register files the operating system saves at a context switch. Needs OSXSAVE. */
static uint32_t saved_state(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

enum {
    SAVED_AVX = 0x06,   /* SSE and AVX */
    SAVED_AVX512 = 0xe6 /* and opmask, the upper halves, and registers 16 to 31 */
};

static bool has(uint32_t reg, uint32_t bits)
{
    return (reg & bits) == bits;
}

bool pgq_cpu_avx2(void)
{
    uint32_t a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_AVX | bit_POPCNT))
        return false;
    if (!has(saved_state(), SAVED_AVX))
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bit_AVX2 | bit_BMI | bit_BMI2))
        return false;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && has(c, bit_LZCNT);
}

bool pgq_cpu_avx512(void)
{
    uint32_t a, b, c, d;

    if (!pgq_cpu_avx2() || !has(saved_state(), SAVED_AVX512))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           has(b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ) &&
           has(c, bit_AVX512VBMI | bit_AVX512VBMI2);
}
#else
bool pgq_cpu_avx2(void)
{
    return false;
}

bool pgq_cpu_avx512(void)
{
    return false;
}
#endif

bool pgq_cpu_any(void)
{
    return true;
}

/* The linker gathers every kind's entry in one section and names its ends. */
extern const pgq_kind *const __start_pgq_kinds[] __attribute__((visibility("hidden")));
extern const pgq_kind *const __stop_pgq_kinds[] __attribute__((visibility("hidden")));

static const char *name_of(const pgq_kind *kind, size_t i)
{
    const char *name;

    memcpy(&name, kind->variants + i * kind->stride + kind->name_at, sizeof name);
    return name;
}

static bool is_supported(const pgq_kind *kind, size_t i)
{
    bool (*supported)(void);

    memcpy(&supported, kind->variants + i * kind->stride + kind->supported_at, sizeof supported);
    return supported();
}

static int find(const pgq_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->count; i++)
        if (strcmp(name_of(kind, i), name) == 0)
            return (int)i;
    return -1;
}

static bool known_anywhere(const char *name)
{
    for (const pgq_kind *const *kind = __start_pgq_kinds; kind < __stop_pgq_kinds; kind++)
        if (find(*kind, name) >= 0)
            return true;
    return false;
}

static int choose(const pgq_kind *kind)
{
    const char *forced = getenv("PGQUERN_VARIANT");

    if (forced != NULL && forced[0] != '\0') {
        int i = find(kind, forced);

        if (i >= 0)
            return is_supported(kind, (size_t)i) ? i : -1;
        if (!known_anywhere(forced))
            return -1;
    }
    for (size_t i = kind->count; i-- > 0;)
        if (is_supported(kind, i))
            return (int)i;
    return -1;
}

int pgq_choose(const pgq_kind *kind, pgq_choice *memo)
{
    /* Stored as index + 2, so that 0 says "not asked yet" and 1 "cannot be followed". */
    int known = atomic_load_explicit(memo, memory_order_relaxed);

    if (known == 0) {
        known = choose(kind) + 2;
        atomic_store_explicit(memo, known, memory_order_relaxed);
    }
    return known - 2;
}
