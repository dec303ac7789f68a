/* SPDX-License-Identifier: PostgreSQL */
/*
 * A queue of one place between threads, as an example of a stem's world with threads. Its author may forget things, by macros,
 * and the world must find each (tests/world/test_world.py).
 */
#include "../tests/world/interpose.h"

#include <stdlib.h>

enum { PRODUCERS = 2, CONSUMERS = 2, EACH = 6 };
enum { TAKEN, WAITED };
const char *const world_counts[] = {"taken", "waited", NULL};
const unsigned world_steps = 3;

typedef struct queue {
    world *world;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* producers and consumers wait here */
    unsigned place;         /* 0: free */
    unsigned sum;
} queue;

#ifdef LOOKS_ONCE
#define WHILE if
#else
#define WHILE while
#endif

static void change(queue *q, bool to_full, unsigned number)
{
    pthread_mutex_lock(&q->mutex);
    WHILE((q->place != 0) == to_full)
    {
        world_count(WAITED);
        pthread_cond_wait(&q->changed, &q->mutex);
    }
#ifdef LETS_GO_BETWEEN
    pthread_mutex_unlock(&q->mutex);
    pthread_mutex_lock(&q->mutex);
#endif
    if ((q->place != 0) == to_full)
        world_violation(q->world, "the place is %s", to_full ? "full" : "empty");
    q->sum += q->place;
    q->place = number;
    world_count(TAKEN);
#ifdef WAKES_ONE
    pthread_cond_signal(&q->changed);
#elif !defined(WAKES_NOBODY)
    pthread_cond_broadcast(&q->changed);
#endif
    pthread_mutex_unlock(&q->mutex);
}

static void work(void *argument, unsigned number)
{
    for (unsigned i = 1; i <= EACH; i++)
        change(argument, number < PRODUCERS, number < PRODUCERS ? i : 0);
}

void *world_begin(world *w)
{
    queue *q = calloc(1, sizeof *q);

    if (q == NULL)
        abort();
    q->world = w;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->changed, NULL);
    return q;
}

void world_step(void *row, world *w, unsigned step)
{
    queue *q = row;

    (void)step;
    q->sum = 0;
    world_run_threads(w, PRODUCERS + CONSUMERS, work, q);
    if (q->sum != PRODUCERS * EACH * (EACH + 1) / 2)
        world_violation(w, "the sum is %u", q->sum);
}

void world_end(void *row, world *w)
{
    queue *q = row;

    (void)w;
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->mutex);
    free(q);
}
