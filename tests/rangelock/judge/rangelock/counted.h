/* SPDX-License-Identifier: PostgreSQL */
/* right.c with the number of requests and releases so far, and what was released last: for locks that go wrong by these. */
#define candidate_create  right_create
#define candidate_acquire right_acquire
#define candidate_release right_release
#define candidate_destroy right_destroy
static void *candidate_create(void);
static bool candidate_acquire(void *lock, pgq_rangelock_hold *hold, uint64_t nanoseconds);
static void candidate_release(void *lock, pgq_rangelock_hold *hold);
static bool candidate_destroy(void *lock);
#include "right.c"
#undef candidate_create
#undef candidate_acquire
#undef candidate_release
#undef candidate_destroy

typedef struct counted {
    queue *right;
    unsigned requests, releases;
    pgq_rangelock_hold *released;
} counted;

void *candidate_create(void)
{
    counted *me = calloc(1, sizeof *me);

    if (me != NULL && (me->right = right_create()) == NULL) {
        free(me);
        return NULL;
    }
    return me;
}

bool candidate_destroy(void *lock)
{
    counted *me = lock;

    if (!right_destroy(me->right))
        return false;
    free(me);
    return true;
}
