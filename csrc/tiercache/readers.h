/* SPDX-License-Identifier: PostgreSQL */
/*
 * Who copies a page from its frame while `map` is free. Under `map` a hit counts itself among the readers of the frame; then it lets
 * go of `map`, and copies. A frame with readers keeps its page and its bytes: who is about to change either waits, under `map`. While
 * somebody waits, hits copy under `map`: so he waits for copies that have begun, and for no others.
 *
 * No wake-up is lost. Who waits says so before he looks at the readers; a reader leaves before it looks whether somebody waits; and
 * these four operations have one order for all threads (__ATOMIC_SEQ_CST). The model is spec/tiercache/readers.tla.
 */
#ifndef PGQUERN_TIERCACHE_READERS_H
#define PGQUERN_TIERCACHE_READERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct readers {
    uint32_t *of;      /* each frame; atomic */
    uint32_t awaiting; /* threads, a frame without readers; atomic, and changed under `map` */
    pthread_cond_t unread;
} readers;

static inline bool readers_make(readers *r, uint32_t frames)
{
    pthread_cond_init(&r->unread, NULL);
    r->of = calloc(frames, sizeof *r->of);
    return r->of != NULL;
}

static inline void readers_free(readers *r)
{
    pthread_cond_destroy(&r->unread);
    free(r->of);
}

/* `map` is held. false: somebody waits, and the caller keeps `map` while it copies. */
static inline bool readers_enter(readers *r, uint32_t frame)
{
    if (r->awaiting > 0)
        return false;
    __atomic_add_fetch(&r->of[frame], 1, __ATOMIC_RELAXED);
    return true;
}

/* `map` is free. */
static inline void readers_leave(readers *r, uint32_t frame, pthread_mutex_t *map)
{
    if (__atomic_sub_fetch(&r->of[frame], 1, __ATOMIC_SEQ_CST) > 0 ||
        __atomic_load_n(&r->awaiting, __ATOMIC_SEQ_CST) == 0)
        return;
    pthread_mutex_lock(map);
    pthread_cond_broadcast(&r->unread);
    pthread_mutex_unlock(map);
}

/* `map` is held. Until the frame has no readers. true: `map` was released meanwhile, so the page may be elsewhere now. */
static inline bool readers_wait(readers *r, uint32_t frame, pthread_mutex_t *map)
{
    bool waited = false;

    __atomic_store_n(&r->awaiting, r->awaiting + 1, __ATOMIC_SEQ_CST);
    for (; __atomic_load_n(&r->of[frame], __ATOMIC_SEQ_CST) > 0; waited = true)
        pthread_cond_wait(&r->unread, map);
    __atomic_store_n(&r->awaiting, r->awaiting - 1, __ATOMIC_SEQ_CST);
    return waited;
}

#endif
