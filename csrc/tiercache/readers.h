/* SPDX-License-Identifier: PostgreSQL */
/*
 * Who copies a page from its frame, without the lock of the maps. A frame has a name, the page whose contents it has, and a count of
 * pins. A reader pins the frame in which it thinks that its page is, and then looks at the name: if that is the page, it stays so, and
 * the bytes stay, until the reader has gone. So a reader may find the frame in any way, even in a table that is being changed.
 *
 * Who is about to change name or bytes has `map`, and closes the frame: from then on nobody pins it. If there are pins, he sleeps until
 * the last one goes. While he sleeps the frame stays closed, and a thread that needs its page copies it under `map`: so he waits for copies that
 * have begun, and for no others. A free frame has no name. Readers that have come too late may pin it, and go.
 *
 * No wake-up is lost. Pins and CLOSED are one word: of a reader that goes and one who closes, one is first, and the other one sees it.
 * The model is spec/tiercache/readers.tla.
 */
#ifndef PGQUERN_TIERCACHE_READERS_H
#define PGQUERN_TIERCACHE_READERS_H

#include "common/holds.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define NO_PAGE  UINT64_MAX
#define NO_FRAME UINT32_MAX
#define CLOSED   ((uint32_t)1 << 31)

typedef struct frame_state {
    uint64_t name;    /* a page, or NO_PAGE; atomic, and changed under `map` */
    uint32_t pins;    /* and CLOSED, which is changed under `map`; atomic */
    uint32_t waiting; /* threads that sleep until there are no pins; guarded by `map` */
} frame_state;

typedef struct readers {
    frame_state *of; /* each frame */
    uint32_t held;   /* the frame that the holder of `map` has closed; NO_FRAME: none. Guarded by `map` */
    pthread_cond_t unread;
} readers;

static inline bool readers_make(readers *r, uint32_t frames)
{
    pthread_cond_init(&r->unread, NULL);
    r->held = NO_FRAME;
    r->of = calloc(frames, sizeof *r->of);
    for (uint32_t frame = 0; r->of != NULL && frame < frames; frame++)
        r->of[frame].name = NO_PAGE;
    return r->of != NULL;
}

static inline void readers_free(readers *r)
{
    pthread_cond_destroy(&r->unread);
    free(r->of);
}

/* `map` is free. */
static inline void readers_leave(readers *r, uint32_t frame, pthread_mutex_t *map)
{
    if (__atomic_sub_fetch(&r->of[frame].pins, 1, __ATOMIC_RELEASE) != CLOSED)
        return;
    pthread_mutex_lock(map);
    pthread_cond_broadcast(&r->unread);
    pthread_mutex_unlock(map);
}

/* false: the frame is closed, or has another page. `map` is free, or the frame has the page. */
static inline bool readers_enter(readers *r, uint32_t frame, uint64_t page, pthread_mutex_t *map)
{
    frame_state *of = &r->of[frame];
    uint32_t pins = __atomic_load_n(&of->pins, __ATOMIC_RELAXED);

    do {
        if (pins & CLOSED)
            return false;
    } while (
        !__atomic_compare_exchange_n(&of->pins, &pins, pins + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    if (__atomic_load_n(&of->name, __ATOMIC_ACQUIRE) == page)
        return true;
    readers_leave(r, frame, map);
    return false;
}

/* ---- `map` is held ---- */

/* The page's bytes are in the frame; or, with NO_PAGE, it is closed, and its bytes are nobody's from now on. */
static inline void readers_name(readers *r, uint32_t frame, uint64_t page)
{
    __atomic_store_n(&r->of[frame].name, page, __ATOMIC_RELEASE);
}

/* It has left the frame otherwise since it was there. */
static inline bool readers_has(const readers *r, uint32_t frame, uint64_t page)
{
    return r->of[frame].name == page;
}

/* What the holder of `map` has closed is open again, unless somebody waits. Before `map` is released. */
static inline void readers_open(readers *r)
{
    if (r->held != NO_FRAME && r->of[r->held].waiting == 0)
        __atomic_sub_fetch(&r->of[r->held].pins, CLOSED, __ATOMIC_RELEASE);
    r->held = NO_FRAME;
}

/*
 * Nobody else reads or changes the frame until `map` is released, or another frame is closed. true: `map` was released meanwhile, so the
 * page may be elsewhere now.
 */
static inline bool readers_close(readers *r, uint32_t frame, pthread_mutex_t *map)
{
    frame_state *of = &r->of[frame];
    bool waited = false;

    if (r->held == frame)
        return false;
    readers_open(r);
    uint32_t pins = __atomic_load_n(&of->pins, __ATOMIC_ACQUIRE);
    if (!(pins & CLOSED))
        pins = __atomic_add_fetch(&of->pins, CLOSED, __ATOMIC_ACQUIRE);
    for (; pins != CLOSED; waited = true) {
        of->waiting++;
        pthread_cond_wait(&r->unread, map);
        of->waiting--;
        pins = __atomic_load_n(&of->pins, __ATOMIC_ACQUIRE);
    }
    r->held = frame;
    return waited;
}

#endif
