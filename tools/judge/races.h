/* SPDX-License-Identifier: PostgreSQL */
/*
 * Data races of a component whose threads are fibers of a host: the doubles of what code calls that -fsanitize=thread has
 * compiled. Each thread has a vector of clocks, and of each byte it is known who wrote it last, and who has read it since
 * (FastTrack: Flanagan and Freund, PLDI 2009). What no code of the component's orders is a race, whatever a schedule made of it.
 * The host says which thread runs, and calls `take` and `give` where it orders threads itself.
 *
 * Assembler, and what the compiler makes of some builtins, call no double. So while a thread runs, the bytes that others have
 * written, and that nothing lets it read yet, hold junk: who reads them all the same goes wrong. And what has changed without
 * a double is told.
 */
#ifndef PGQUERN_JUDGE_RACES_H
#define PGQUERN_JUDGE_RACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RACERS = 64, BYTES_SEEN = 1 << 17, SYNCED = 1 << 12, TRIES = 64 };

typedef struct clocks {
    uint32_t at[RACERS];
} clocks;

static struct byte_seen {
    uintptr_t byte; /* 0: none */
    uint32_t written, writer;
    uint32_t in_slice; /* the last one that wrote it, atomics too */
    bool is_changed;   /* it stands there */
    uint32_t hidden;   /* 1 + where it stands there; 0: it holds what was written */
    uint64_t readers;
    uint32_t read[RACERS];
} bytes_seen[BYTES_SEEN];
static struct {
    uintptr_t address; /* 0: none */
    clocks clocks;
} synced[SYNCED];
static struct byte_seen *changed[BYTES_SEEN]; /* all that were ever written */
static struct {
    struct byte_seen *of;
    char was;
} hidden[BYTES_SEEN];
static size_t changed_count, hidden_count;
static uint32_t slice_number;
static clocks racers[RACERS];
/* What relaxed atomics have read, for a fence to acquire, and what a fence has released, for them to publish. */
static clocks may_acquire[RACERS], released[RACERS];
static unsigned racer;
static bool raced;
static bool blind; /* a table is full: nothing more is said */

static void join(clocks *to, const clocks *from)
{
    for (int i = 0; i < RACERS; i++)
        if (to->at[i] < from->at[i])
            to->at[i] = from->at[i];
}

static clocks *clocks_of(const volatile void *address)
{
    size_t at = ((uintptr_t)address * 0x9e3779b97f4a7c15) >> 52;

    for (int i = 0; i < TRIES; i++, at = (at + 1) % SYNCED)
        if (synced[at].address == 0 || synced[at].address == (uintptr_t)address) {
            synced[at].address = (uintptr_t)address;
            return &synced[at].clocks;
        }
    blind = true;
    return &synced[0].clocks;
}

static bool may_read(const struct byte_seen *b)
{
    return b->writer == racer || b->written <= racers[racer].at[b->writer];
}

static void show(struct byte_seen *b)
{
    if (b->hidden == 0)
        return;
    size_t at = b->hidden - 1;
    *(char *)b->byte = hidden[at].was; // NOLINT(performance-no-int-to-ptr)
    b->hidden = 0;
    hidden[at] = hidden[--hidden_count];
    if (at < hidden_count)
        hidden[at].of->hidden = (uint32_t)at + 1;
}

static void show_what_may_be_read(void)
{
    for (size_t i = hidden_count; i-- > 0;)
        if (may_read(hidden[i].of))
            show(hidden[i].of);
}

/* A thread goes on. */
static void begin_slice(void)
{
    slice_number++;
    for (size_t i = 0; i < changed_count && !blind; i++)
        if (!may_read(changed[i])) {
            char *byte = (char *)changed[i]->byte; // NOLINT(performance-no-int-to-ptr)

            hidden[hidden_count].of = changed[i];
            hidden[hidden_count++].was = *byte;
            changed[i]->hidden = (uint32_t)hidden_count;
            *byte ^= 0x5a;
        }
}

static void end_slice(void)
{
    while (hidden_count > 0)
        show(hidden[hidden_count - 1].of);
}

/* What was given there has happened before what follows; NULL: nothing was. */
static void take(const volatile void *address)
{
    if (address == NULL)
        return;
    join(&racers[racer], clocks_of(address));
    show_what_may_be_read();
}

static void give(const volatile void *address)
{
    if (address != NULL)
        join(clocks_of(address), &racers[racer]);
    racers[racer].at[racer]++;
}

/* All that any thread has done has happened before what follows. */
static void take_all(void)
{
    for (int i = 0; i < RACERS; i++) {
        join(&racers[racer], &racers[i]);
        racers[i].at[i]++;
    }
    show_what_may_be_read();
}

/* NULL: nobody has reached it, and `add` is false; or the table is full. */
static struct byte_seen *seen(uintptr_t byte, bool add)
{
    size_t at = (byte * 0x9e3779b97f4a7c15) >> 47;

    for (int i = 0; i < TRIES; i++, at = (at + 1) % BYTES_SEEN) {
        if (bytes_seen[at].byte == byte)
            return &bytes_seen[at];
        if (bytes_seen[at].byte == 0 && !add)
            return NULL;
        if (bytes_seen[at].byte == 0) {
            bytes_seen[at].byte = byte;
            return &bytes_seen[at];
        }
    }
    blind = true;
    return NULL;
}

static void reach(const volatile void *address, size_t size, bool writes, bool atomic)
{
    const clocks *mine = &racers[racer];

    for (uintptr_t byte = (uintptr_t)address; byte < (uintptr_t)address + size && !blind; byte++) {
        struct byte_seen *b = seen(byte, writes || !atomic);

        if (b == NULL)
            continue;
        show(b);
        if (writes)
            b->in_slice = slice_number;
        raced |= b->written > mine->at[b->writer] && b->writer != racer;
        for (uint64_t left = writes ? b->readers : 0; left != 0; left &= left - 1)
            raced |= b->read[__builtin_ctzll(left)] > mine->at[__builtin_ctzll(left)] &&
                     (unsigned)__builtin_ctzll(left) != racer;
        if (writes && !atomic) {
            if (!b->is_changed)
                changed[changed_count++] = b;
            b->is_changed = true;
            b->writer = racer;
            b->written = mine->at[racer];
            b->readers = 0;
        } else if (!atomic) {
            b->readers |= UINT64_C(1) << racer;
            b->read[racer] = mine->at[racer];
        }
    }
}

/* Memory that was asked for is nobody's yet. */
static void renew(const void *address, size_t size)
{
    for (uintptr_t byte = (uintptr_t)address; address != NULL && byte < (uintptr_t)address + size; byte++) {
        struct byte_seen *b = seen(byte, false);

        if (b == NULL)
            continue;
        show(b);
        b->written = 0, b->readers = 0;
    }
}

/* The host writes there itself, as a mutex, say. */
static void writes_itself(const volatile void *address, size_t size)
{
    for (uintptr_t byte = (uintptr_t)address; byte < (uintptr_t)address + size && !blind; byte++) {
        struct byte_seen *b = seen(byte, true);

        if (b != NULL)
            b->in_slice = slice_number;
    }
}

/* Whether something has changed in this slice, and no double was called. */
static bool changed_unseen(const char *now, const char *before, size_t size)
{
    if (blind || memcmp(now, before, size) == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        const struct byte_seen *b = now[i] != before[i] ? seen((uintptr_t)(now + i), false) : NULL;

        if (now[i] != before[i] && !blind && (b == NULL || b->in_slice != slice_number))
            return true;
    }
    return false;
}

static void begin_races(void)
{
    for (int i = 0; i < RACERS; i++)
        racers[i].at[i] = 1;
}

/* Before an atomic: another thread may go on. */
static void atomic_comes(void);

static void order_before(const volatile void *address, int order)
{
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE)
        take(address);
    else
        join(&may_acquire[racer], clocks_of(address));
}

static void order_after(const volatile void *address, int order)
{
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_ACQUIRE)
        give(address);
    else
        join(clocks_of(address), &released[racer]);
}

/* ---- what the compiler calls ----------------------------------------------------------------------------------------- */

#define RACES_DOUBLE(result, name, ...)                                                                      \
    result name(__VA_ARGS__);                                                                                \
    result name(__VA_ARGS__)
#define RACES_PLAIN(n)                                                                                       \
    RACES_DOUBLE(void, __tsan_read##n, void *at)                                                             \
    {                                                                                                        \
        reach(at, n, false, false);                                                                          \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_write##n, void *at)                                                            \
    {                                                                                                        \
        reach(at, n, true, false);                                                                           \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_read_write##n, void *at)                                                       \
    {                                                                                                        \
        reach(at, n, true, false);                                                                           \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_unaligned_read##n, void *at)                                                   \
    {                                                                                                        \
        reach(at, n, false, false);                                                                          \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_unaligned_write##n, void *at)                                                  \
    {                                                                                                        \
        reach(at, n, true, false);                                                                           \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_unaligned_read_write##n, void *at)                                             \
    {                                                                                                        \
        reach(at, n, true, false);                                                                           \
    }
#define RACES_CHANGE(bits, name, builtin)                                                                    \
    RACES_DOUBLE(uint##bits##_t, __tsan_atomic##bits##_##name, volatile uint##bits##_t *at,                  \
                 uint##bits##_t value, int order)                                                            \
    {                                                                                                        \
        atomic_comes();                                                                                      \
        reach(at, bits / 8, true, true);                                                                     \
        order_before(at, order);                                                                             \
        uint##bits##_t was = builtin(at, value, __ATOMIC_SEQ_CST);                                           \
        order_after(at, order);                                                                              \
        return was;                                                                                          \
    }
/* The builtin as C11 has it: gcc calls these, clang the one that gives what was there. */
#define RACES_EXCHANGE(bits, kind)                                                                           \
    RACES_DOUBLE(int, __tsan_atomic##bits##_compare_exchange_##kind, volatile uint##bits##_t *at,            \
                 uint##bits##_t *from, uint##bits##_t to, int order, int failed)                             \
    {                                                                                                        \
        reach(from, bits / 8, false, false);                                                                 \
        const uint##bits##_t asked = *from;                                                                  \
        *from = __tsan_atomic##bits##_compare_exchange_val(at, asked, to, order, failed);                    \
        if (*from == asked)                                                                                  \
            return true;                                                                                     \
        reach(from, bits / 8, true, false);                                                                  \
        return false;                                                                                        \
    }
#define RACES_ATOMIC(bits)                                                                                   \
    RACES_DOUBLE(uint##bits##_t, __tsan_atomic##bits##_load, const volatile uint##bits##_t *at, int order)   \
    {                                                                                                        \
        atomic_comes();                                                                                      \
        reach(at, bits / 8, false, true);                                                                    \
        order_before(at, order);                                                                             \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                        \
    RACES_DOUBLE(void, __tsan_atomic##bits##_store, volatile uint##bits##_t *at, uint##bits##_t value,       \
                 int order)                                                                                  \
    {                                                                                                        \
        atomic_comes();                                                                                      \
        reach(at, bits / 8, true, true);                                                                     \
        order_after(at, order);                                                                              \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                        \
    RACES_DOUBLE(uint##bits##_t, __tsan_atomic##bits##_compare_exchange_val, volatile uint##bits##_t *at,    \
                 uint##bits##_t from, uint##bits##_t to, int order, int failed)                              \
    {                                                                                                        \
        atomic_comes();                                                                                      \
        reach(at, bits / 8, true, true);                                                                     \
        bool is_done =                                                                                       \
            __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);           \
        order_before(at, is_done ? order : failed);                                                          \
        if (is_done)                                                                                         \
            order_after(at, order);                                                                          \
        return from;                                                                                         \
    }                                                                                                        \
    RACES_EXCHANGE(bits, strong)                                                                             \
    RACES_EXCHANGE(bits, weak)                                                                               \
    RACES_CHANGE(bits, exchange, __atomic_exchange_n)                                                        \
    RACES_CHANGE(bits, fetch_add, __atomic_fetch_add)                                                        \
    RACES_CHANGE(bits, fetch_sub, __atomic_fetch_sub)                                                        \
    RACES_CHANGE(bits, fetch_and, __atomic_fetch_and)                                                        \
    RACES_CHANGE(bits, fetch_or, __atomic_fetch_or)                                                          \
    RACES_CHANGE(bits, fetch_xor, __atomic_fetch_xor)                                                        \
    RACES_CHANGE(bits, fetch_nand, __atomic_fetch_nand)

/* clang-format off */
RACES_PLAIN(1) RACES_PLAIN(2) RACES_PLAIN(4) RACES_PLAIN(8) RACES_PLAIN(16)
RACES_ATOMIC(8) RACES_ATOMIC(16) RACES_ATOMIC(32) RACES_ATOMIC(64)
    /* clang-format on */

    RACES_DOUBLE(void, __tsan_read_range, void *at, size_t size)
{
    reach(at, size, false, false);
}

RACES_DOUBLE(void, __tsan_write_range, void *at, size_t size)
{
    reach(at, size, true, false);
}

RACES_DOUBLE(void, __tsan_atomic_thread_fence, int order)
{
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE) {
        join(&racers[racer], &may_acquire[racer]);
        show_what_may_be_read();
    }
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_ACQUIRE) {
        released[racer] = racers[racer];
        racers[racer].at[racer]++;
    }
    __atomic_thread_fence(order);
}

RACES_DOUBLE(void, __tsan_atomic_signal_fence, int order)
{
    (void)order;
}

RACES_DOUBLE(void *, __tsan_memcpy, void *to, const void *from, size_t size)
{
    reach(from, size, false, false);
    reach(to, size, true, false);
    return memcpy(to, from, size);
}

RACES_DOUBLE(void *, __tsan_memmove, void *to, const void *from, size_t size)
{
    reach(from, size, false, false);
    reach(to, size, true, false);
    return memmove(to, from, size);
}

RACES_DOUBLE(void *, __tsan_memset, void *to, int value, size_t size)
{
    reach(to, size, true, false);
    return memset(to, value, size);
}

RACES_DOUBLE(int, judge_double_memcmp, const void *a, const void *b, size_t size)
{
    reach(a, size, false, false);
    reach(b, size, false, false);
    return memcmp(a, b, size);
}

RACES_DOUBLE(void *, judge_double_memcpy, void *to, const void *from, size_t size)
{
    return __tsan_memcpy(to, from, size);
}

RACES_DOUBLE(void *, judge_double_memmove, void *to, const void *from, size_t size)
{
    return __tsan_memmove(to, from, size);
}

RACES_DOUBLE(void *, judge_double_memset, void *to, int value, size_t size)
{
    return __tsan_memset(to, value, size);
}

RACES_DOUBLE(void, judge_double_qsort, void *first, size_t n, size_t size,
             int (*order)(const void *, const void *))
{
    reach(first, n * size, true, false);
    qsort(first, n, size, order);
}

RACES_DOUBLE(void, __tsan_func_entry, void *caller)
{
    (void)caller;
}

RACES_DOUBLE(void, __tsan_func_exit, void) {}
RACES_DOUBLE(void, __tsan_init, void) {}

#endif
