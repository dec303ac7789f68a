/* SPDX-License-Identifier: PostgreSQL */
#include "dirty.h"

#include <errno.h>
#include <stdlib.h>

struct dirty dirty = {
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .room = PTHREAD_COND_INITIALIZER,
    .all = TAILQ_HEAD_INITIALIZER(dirty.all),
    .due = TAILQ_HEAD_INITIALIZER(dirty.due),
};

int dirty_start(uint64_t memory)
{
    dirty.most = memory / PAGE;
    for (dirty.mask = 1; dirty.mask < dirty.most; dirty.mask *= 2)
        ;
    dirty.buckets = calloc(dirty.mask--, sizeof(*dirty.buckets));
    return dirty.buckets == NULL ? -ENOMEM : 0;
}

page **dirty_place(const relfile *file, uint64_t number)
{
    uint64_t hash = ((uintptr_t)file / 64 + number) * 0x9E3779B97F4A7C15u;
    page **at = &dirty.buckets[(hash >> 32) & dirty.mask];

    while (*at != NULL && ((*at)->file != file || (*at)->number != number))
        at = &(*at)->next;
    return at;
}

static void append(page *p)
{
    p->stamp = ++dirty.stamp;
    TAILQ_INSERT_TAIL(&dirty.all, p, all);
    TAILQ_INSERT_TAIL(&p->file->pages, p, of_it);
}

void dirty_insert(page *p)
{
    page **at = dirty_place(p->file, p->number);

    p->next = *at;
    *at = p;
    append(p);
    dirty.count++;
}

void dirty_renew(page *p)
{
    TAILQ_REMOVE(&dirty.all, p, all);
    TAILQ_REMOVE(&p->file->pages, p, of_it);
    append(p);
}

bool dirty_must_flush(void)
{
    return dirty.count > dirty.most / 2 || dirty.due_count >= DUE;
}

void dirty_set_due(page *p, bool is_due)
{
    if (is_due && !p->is_due)
        TAILQ_INSERT_TAIL(&dirty.due, p, soon);
    if (!is_due && p->is_due)
        TAILQ_REMOVE(&dirty.due, p, soon);
    dirty.due_count += (uint64_t)is_due - p->is_due;
    p->is_due = is_due;
}

void dirty_discard(page **at)
{
    page *p = *at;

    dirty_set_due(p, false);
    *at = p->next;
    TAILQ_REMOVE(&dirty.all, p, all);
    TAILQ_REMOVE(&p->file->pages, p, of_it);
    free(p);
    dirty.count--;
    pthread_cond_broadcast(&dirty.room);
}
