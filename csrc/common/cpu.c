/* SPDX-License-Identifier: PostgreSQL */
#include "common/cpu.h"
#include "common/common.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Each level has what the one before it has; names are the words of PGQUERN_CPU. A level of 0 is not known yet. */
#if defined(__x86_64__)
#include <cpuid.h>

typedef enum level { UNKNOWN_WORD = 1, NONE, AVX2, AVX512, AVX512VBMI2, HIGHEST = AVX512VBMI2 } level;

static const char *const names[HIGHEST + 1] = {
    [NONE] = "none", [AVX2] = "avx2", [AVX512] = "avx512", [AVX512VBMI2] = "avx512vbmi2"};

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

static level detect(void)
{
    uint32_t a, b, c, d, extended;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_AVX | bit_POPCNT) ||
        !has(saved_state(), SAVED_AVX))
        return NONE;
    if (!__get_cpuid(0x80000001, &a, &b, &extended, &d) || !has(extended, bit_LZCNT))
        return NONE;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bit_AVX2 | bit_BMI | bit_BMI2))
        return NONE;
    if (!has(saved_state(), SAVED_AVX512) ||
        !has(b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL))
        return AVX2;
    return has(c, bit_AVX512VBMI2) ? AVX512VBMI2 : AVX512;
}

bool pgq_cpu_is_intel(void)
{
    return __builtin_cpu_is("intel");
}
#else
#if defined(__aarch64__)
typedef enum level { UNKNOWN_WORD = 1, NONE, NEON, HIGHEST = NEON } level;

static const char *const names[HIGHEST + 1] = {[NONE] = "none", [NEON] = "neon"};
#else
typedef enum level { UNKNOWN_WORD = 1, NONE, HIGHEST = NONE } level;

static const char *const names[HIGHEST + 1] = {[NONE] = "none"};
#endif

/* Each CPU of 64-bit ARM has NEON. */
static level detect(void)
{
    return HIGHEST;
}

bool pgq_cpu_is_intel(void)
{
    return false;
}
#endif

/* The highest level that PGQUERN_CPU allows. */
static level allowed(void)
{
    const char *word = getenv("PGQUERN_CPU");

    if (word == NULL || word[0] == '\0')
        return HIGHEST;
    for (level l = NONE; l <= HIGHEST; l++)
        if (strcmp(word, names[l]) == 0)
            return l;
    return UNKNOWN_WORD;
}

/* Two threads that ask at once for the first time find the same answer, so both may store it. */
static level current(void)
{
    static atomic_int memo;
    level known = (level)atomic_load_explicit(&memo, memory_order_relaxed);

    if (known == 0) {
        level most = allowed(), has_it = detect();

        known = has_it < most ? has_it : most;
        atomic_store_explicit(&memo, (int)known, memory_order_relaxed);
    }
    return known;
}

const char *pgq_cpu(void)
{
    return names[current()];
}

bool pgq_cpu_any(void)
{
    return true;
}

#if defined(__x86_64__)
bool pgq_cpu_avx2(void)
{
    return current() >= AVX2;
}

bool pgq_cpu_avx512(void)
{
    return current() >= AVX512;
}

bool pgq_cpu_avx512vbmi2(void)
{
    return current() >= AVX512VBMI2;
}
#elif defined(__aarch64__)
bool pgq_cpu_neon(void)
{
    return current() >= NEON;
}
#endif
