/* SPDX-License-Identifier: PostgreSQL */
/*
 * What one thread does to a frame or a stripe comes before what another does to it then, by the atomics of readers.h and hits.h alone.
 * The threads take turns by relaxed operations, in which ThreadSanitizer sees no order: each turn is the same in each run, and an
 * order that is weaker is a data race there.
 */
#ifndef PGQUERN_TESTS_TIERCACHE_ORDERS_H
#define PGQUERN_TESTS_TIERCACHE_ORDERS_H

#include "pgquern.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

static unsigned turn, sleeps; /* relaxed */

/* When the reader leaves whom a writer meets: once it is told to; or in the middle of the writer's close. */
static enum { WHEN_TOLD, BEFORE_CLOSED, BEFORE_SLEEP } leaves;

/* A turn that never comes is a finding; it is counted, for the clock says nothing on a busy machine. */
static void give_way(void)
{
    static unsigned times;

    if (__atomic_add_fetch(&times, 1, __ATOMIC_RELAXED) > 2000000)
        wrong("a turn never comes");
    sched_yield();
}

static void wait_until(const unsigned *number, unsigned least)
{
    while (__atomic_load_n(number, __ATOMIC_RELAXED) < least)
        give_way();
}

static void pass_on(unsigned next)
{
    __atomic_store_n(&turn, next, __ATOMIC_RELAXED);
}

static void before_closed(void)
{
    if (leaves != BEFORE_CLOSED)
        return;
    pass_on(2);
    wait_until(&turn, 3);
}

/* The reader comes to the lock, which the writer has until he sleeps. */
static void before_sleep(void)
{
    __atomic_fetch_add(&sleeps, 1, __ATOMIC_RELAXED);
    if (leaves != BEFORE_SLEEP)
        return;
    pass_on(2);
    wait_until(&turn, 3);
    if (__atomic_load_n(&turn, __ATOMIC_RELAXED) == 4)
        wrong("a wake-up comes before the sleep, which has no end");
}

/* A reader of a page that is elsewhere has the frame pinned, and looks at its name once a writer sleeps. */
static bool is_late;

static void before_name(bool is_name)
{
    if (!is_name || !is_late)
        return;
    pass_on(1);
    wait_until(&turn, 2);
}

static void goes_on(unsigned next)
{
    if (leaves == BEFORE_SLEEP)
        pass_on(next);
}

/* Another thread of the stripe notes as soon as it is free. */
static bool notes_beside;
static void note_beside(void);

#define pthread_cond_wait(condition, mutex) (before_sleep(), pthread_cond_wait(condition, mutex))
#define pthread_cond_broadcast(condition)   (pthread_cond_broadcast(condition), goes_on(4))
#define pthread_mutex_lock(mutex)           (goes_on(3), pthread_mutex_lock(mutex))
#define __atomic_add_fetch(...)             (before_closed(), __atomic_add_fetch(__VA_ARGS__))
#define __atomic_load_n(from, order)        (before_name(sizeof *(from) == 8), __atomic_load_n(from, order))
#define __atomic_store_n(to, is, order)     (__atomic_store_n(to, is, order), note_beside())
#include "tiercache/hits.h"
#include "tiercache/readers.h"
#undef pthread_cond_wait
#undef pthread_cond_broadcast
#undef pthread_mutex_lock
#undef __atomic_add_fetch
#undef __atomic_load_n
#undef __atomic_store_n

enum { SHARING = 17 /* threads, of which the first and the last note in one stripe */ };

static readers those;
static pthread_mutex_t map = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static int page_bytes, last_change; /* of frame 0, which has page 7; last_change: as the turns began */
static bool has_changed;
static pgq_tiercache *shared;

static void take_turns(unsigned n, void *(*const bodies[])(void *))
{
    pthread_t threads[SHARING + 1];

    turn = sleeps = 0;
    has_changed = false;
    last_change = page_bytes;
    for (uintptr_t i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, bodies[i], (void *)i);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void enter(void)
{
    while (!readers_enter(&those, 0, 7, &map))
        give_way();
}

static void change(void)
{
    pthread_mutex_lock(&map);
    while (readers_close(&those, 0, &map))
        ;
    page_bytes++;
    readers_open(&those);
    pthread_mutex_unlock(&map);
}

/* Until the closer sleeps; `map` is held then. */
static void lock_beside_a_sleeper(void)
{
    for (pthread_mutex_lock(&map); those.of[0].waiting == 0; pthread_mutex_lock(&map)) {
        pthread_mutex_unlock(&map);
        give_way();
    }
}

/* ---- a reader comes after who filled a free frame; a writer after the reader; a reader after the writer ---- */

static void *fills_and_changes(void *nothing)
{
    page_bytes = 1;
    pthread_mutex_lock(&map);
    readers_name(&those, 0, 7);
    pthread_mutex_unlock(&map);
    pass_on(1);
    wait_until(&turn, 2);
    change();
    pass_on(3);
    return nothing;
}

static void *copies_twice(void *nothing)
{
    for (unsigned at = 1; at <= 3; at += 2) {
        wait_until(&turn, at);
        enter();
        int copied = page_bytes;
        readers_leave(&those, 0, &map);
        if (copied != (int)(at + 1) / 2)
            wrong("a reader does not see what was written before");
        pass_on(at + 1);
    }
    return nothing;
}

/* ---- a writer sleeps until the reader has left ---- */

/* With another lock than the writer's, or it would bring the order that the pins should. */
static void *leaves_when_told(void *nothing)
{
    enter();
    pass_on(1);
    wait_until(&turn, 2);
    if (page_bytes != last_change)
        wrong("a page is changed beside its reader");
    readers_leave(&those, 0, leaves == BEFORE_SLEEP ? &map : &own);
    if (leaves == BEFORE_CLOSED)
        pass_on(3);
    return nothing;
}

static void *changes_beside_a_reader(void *nothing)
{
    wait_until(&turn, 1);
    change();
    __atomic_store_n(&has_changed, true, __ATOMIC_RELAXED);
    return nothing;
}

/* A wait may end for no reason: here before the reader leaves. */
static void *wakes_too_early(void *nothing)
{
    wait_until(&turn, 1);
    lock_beside_a_sleeper();
    pthread_cond_broadcast(&those.unread);
    pthread_mutex_unlock(&map);
    for (; __atomic_load_n(&sleeps, __ATOMIC_RELAXED) < 2; give_way())
        if (__atomic_load_n(&has_changed, __ATOMIC_RELAXED))
            wrong("a writer does not wait for a reader");
    lock_beside_a_sleeper();
    pthread_mutex_unlock(&map);
    pass_on(2);
    return nothing;
}

/* Another writer finds the frame closed, and that the reader has just left. */
static void *changes_before_the_sleeper(void *nothing)
{
    wait_until(&turn, 1);
    lock_beside_a_sleeper();
    pass_on(2);
    while (__atomic_load_n(&those.of[0].pins, __ATOMIC_RELAXED) != CLOSED)
        give_way();
    if (readers_close(&those, 0, &map))
        wrong("a writer waits for nobody");
    if (readers_enter(&those, 0, 7, &map))
        wrong("a reader enters a closed frame");
    page_bytes++;
    readers_open(&those);
    pthread_mutex_unlock(&map);
    return nothing;
}

/* Its pin is the last one: it wakes the writer as any other reader. */
static void *comes_too_late(void *nothing)
{
    is_late = true;
    if (readers_enter(&those, 0, 8, &map))
        wrong("a reader enters a frame of another page");
    is_late = false;
    return nothing;
}

static void *lets_the_late_go(void *nothing)
{
    wait_until(&turn, 1);
    lock_beside_a_sleeper();
    pthread_mutex_unlock(&map);
    pass_on(2);
    return nothing;
}

/* ---- hits ---- */

static uint64_t word_0(uint64_t page)
{
    uint64_t words[PGQ_TIERCACHE_PAGE_SIZE / 8];

    if (pgq_tiercache_read(shared, page, words).code != PGQ_OK)
        wrong("read");
    return words[0];
}

/* One hit each. Once they are told, the first thread fills its stripe: it writes where the told ones stood. */
static void *hits_in_turn(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;

    wait_until(&turn, me);
    word_0(0);
    pass_on(me + 1);
    if (me > 0)
        return NULL;
    wait_until(&turn, SHARING + 1);
    for (int i = 0; i < 64; i++)
        word_0(0);
    return NULL;
}

static void *tells_the_hits(void *nothing)
{
    wait_until(&turn, SHARING);
    if (pgq_tiercache_count(shared).memory_hits != SHARING)
        wrong("a hit is not told, or twice");
    pass_on(SHARING + 1);
    return nothing;
}

/* ---- a page comes to memory by one thread, and is read by another, which has done nothing before ---- */

enum { WAYS = 5 };

static unsigned way;

static void write_word(uint64_t page, uint64_t word)
{
    uint64_t words[PGQ_TIERCACHE_PAGE_SIZE / 8];

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        words[i] = word;
    if (pgq_tiercache_write(shared, page, words).code != PGQ_OK)
        wrong("write");
}

/* From nowhere; to a frame that has it; from the store; ahead of a scan; from the SSD. */
static const uint64_t page_of_way[WAYS] = {20, 20, 3, 35, 40};

static void *brings_a_page(void *nothing)
{
    switch (way) {
    case 0:
    case 1:
        write_word(20, way + 1);
        break;
    case 2:
        word_0(3);
        break;
    case 3:
        word_0(33);
        word_0(34);
        break;
    default:
        for (uint64_t page = 40; page < 60; page++)
            write_word(page, page);
        word_0(40);
    }
    pass_on(1);
    return nothing;
}

static void *reads_it(void *nothing)
{
    static const uint64_t words[WAYS] = {1, 2, 0, 0, 40};

    wait_until(&turn, 1);
    if (word_0(page_of_way[way]) != words[way])
        wrong("a thread does not read what another has brought to memory");
    return nothing;
}

static stripe *stripes;

static void note_beside(void)
{
    if (!notes_beside)
        return;
    notes_beside = false; /* its own stores come here, too */
    notes_beside = !hits_note(stripes, (hit){0, 0});
}

/* A stripe that is full takes hits again once they are told. The first note is two. */
static void fill_a_stripe(void)
{
    stripe *s = stripes = hits_make();

    if (stripes == NULL)
        wrong("no memory");
    for (uint64_t times = 0; times < 2; times++) {
        notes_beside = true;
        for (uint64_t i = 1; i < NOTED; i++)
            if (!hits_note(stripes, (hit){i, 0}))
                wrong("a stripe takes too few hits");
        if (hits_note(stripes, (hit){0, 0}))
            wrong("a stripe takes too many hits");
        while (s->noted == 0)
            s++;
        s->told = s->noted;
    }
    free(stripes);
}

/* Who closes one frame opens the one that he has closed before. */
static void close_both(void)
{
    pthread_mutex_lock(&map);
    readers_name(&those, 1, 8);
    for (uint32_t frame = 0; frame < 2; frame++)
        if (readers_close(&those, frame, &map) || readers_close(&those, frame, &map))
            wrong("a writer waits for nobody");
    if (!readers_enter(&those, 0, 7, &map) || readers_enter(&those, 1, 8, &map))
        wrong("the wrong frame is closed");
    readers_leave(&those, 0, &map);
    readers_open(&those);
    if (readers_enter(&those, 0, 8, &map) || !readers_enter(&those, 1, 8, &map))
        wrong("a frame stays closed, or has another page");
    readers_leave(&those, 1, &map);
    pthread_mutex_unlock(&map);
}

/* cache: page 0 is in memory, and was not read yet. */
static void check_orders(pgq_tiercache *cache)
{
    void *(*threads[SHARING + 1])(void *);

    shared = cache;
    for (int i = 0; i < SHARING; i++)
        threads[i] = hits_in_turn;
    threads[SHARING] = tells_the_hits;
    take_turns(SHARING + 1, threads);
    for (way = 0; way < WAYS; way++) {
        take_turns(2, (void *(*const[])(void *)){brings_a_page, reads_it});
        if ((pgq_tiercache_where(cache, page_of_way[way]) & PGQ_TIERCACHE_IN_MEMORY) == 0)
            wrong("a page has not come to memory");
    }
    if (!readers_make(&those, 2))
        wrong("no memory");
    take_turns(2, (void *(*const[])(void *)){fills_and_changes, copies_twice});
    take_turns(3, (void *(*const[])(void *)){leaves_when_told, changes_beside_a_reader, wakes_too_early});
    take_turns(
        3, (void *(*const[])(void *)){leaves_when_told, changes_beside_a_reader, changes_before_the_sleeper});
    take_turns(3, (void *(*const[])(void *)){comes_too_late, changes_beside_a_reader, lets_the_late_go});
    for (leaves = BEFORE_CLOSED; leaves <= BEFORE_SLEEP; leaves++)
        take_turns(2, (void *(*const[])(void *)){leaves_when_told, changes_beside_a_reader});
    close_both();
    fill_a_stripe();
    if (those.of[0].pins != 0 || those.of[1].pins != 0 || those.of[0].waiting != 0 || page_bytes != 8)
        wrong("a reader or a writer has left something behind");
    readers_free(&those);
}

#endif
