/* SPDX-License-Identifier: PostgreSQL */
/*
 * What is counted for ioshares: a request is submitted, the next one goes, and one completes; all the time QUEUED requests
 * wait, spread over CLASSES classes. SHAPE: CLASSES QUEUED.
 */
#include "icount/subject.h"
#include "pgquern.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 8192 };

SUBJECT_KIND(ioshares)

static pgq_ioshares *scheduler;
static uint32_t class_count, queued;
static uint64_t id;

static bool submit(uint32_t cls)
{
    const pgq_ioshares_request request = {id++, SIZE, cls, false};

    return pgq_ioshares_submit(scheduler, &request).code == PGQ_OK;
}

bool subject_choose(const char *variant, int words, char **shape)
{
    static const uint32_t shares[PGQ_IOSHARES_MAX_CLASSES] = {500, 200, 200, 100, 50, 50, 20, 10};
    pgq_ioshares_class classes[PGQ_IOSHARES_MAX_CLASSES];
    pgq_ioshares_fn make = subject_find_ioshares(variant);
    size_t bytes;

    if (words != 2 || make == NULL)
        return false;
    class_count = (uint32_t)strtoul(shape[0], NULL, 10);
    queued = (uint32_t)strtoul(shape[1], NULL, 10);
    if (class_count < 1 || class_count > PGQ_IOSHARES_MAX_CLASSES || queued < class_count)
        return false;
    for (uint32_t i = 0; i < class_count; i++)
        classes[i] = (pgq_ioshares_class){shares[i], 0, 2 * queued};
    const pgq_ioshares_config config = {classes, class_count, {1, 8, 64, 64, 100000}, NULL, 0, {0, 0}};
    if (pgq_ioshares_bytes(&config, &bytes).code != PGQ_OK)
        return false;
    return make(malloc(bytes), bytes, &config, &scheduler).code == PGQ_OK;
}

/* The class that goes comes back, so each keeps what waits. */
static bool run(void)
{
    pgq_ioshares_request request;

    return pgq_ioshares_next(scheduler, &request).code == PGQ_OK && submit(request.cls) &&
           pgq_ioshares_complete(scheduler, request.cls, 50000).code == PGQ_OK;
}

bool subject_warm_up(void)
{
    bool good = true;

    for (uint32_t i = 0; i < queued; i++)
        good &= submit(i % class_count);
    return good && run();
}

void subject_next(void) {}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
