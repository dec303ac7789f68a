/* SPDX-License-Identifier: PostgreSQL */
/*
 * A log of numbers, one a sector, as an example of a stem's world: its author may forget things, by macros, and the world must
 * find each (tests/world/test_world.py). An append writes and syncs its sector; what it has acknowledged must be there for ever.
 */
#include "../tests/world/disk.h"

#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, ROOM = 64 };
enum { APPENDS, STOPS, FAILURES };
const char *const world_counts[] = {"appends", "stops", "failures", NULL};
const unsigned world_steps = 40;

typedef struct numbers {
    disk disk;
    uint64_t sure, next; /* numbers below `sure` were acknowledged; `next` is the one to be written */
} numbers;

static uint64_t read_number(numbers *log, uint64_t at)
{
    uint64_t number = 0;

    return disk_read(&log->disk, 0, &number, sizeof number, at * SECTOR) < 0 ? UINT64_MAX : number;
}

static bool append(numbers *log)
{
    uint8_t sector[SECTOR] = {0};
    uint64_t number = log->next + 1;

    memcpy(sector, &number, sizeof number);
    if (disk_write(&log->disk, 0, sector, SECTOR, log->next * SECTOR) != SECTOR) {
#ifndef FORGETS_FAILED_WRITE
        return false;
#endif
    }
#ifndef FORGETS_SYNC
#ifdef SYNCS_TWICE
    if (disk_sync(&log->disk, 0) != 0 && disk_sync(&log->disk, 0) != 0)
#else
    if (disk_sync(&log->disk, 0) != 0)
#endif
        return false;
#endif
    log->next++;
    return true;
}

/* Finds the end. After a kill the last number may stand in the cache alone, so it is written again. */
static void recover(numbers *log)
{
    for (log->next = 0; log->next < ROOM && read_number(log, log->next) == log->next + 1;)
        log->next++;
#ifndef TRUSTS_CACHE
    if (log->next > 0)
        log->next--;
#endif
}

void *world_begin(world *w)
{
    numbers *log = calloc(1, sizeof *log);

    if (log == NULL)
        abort();
    disk_make(&log->disk, w, SECTOR, 1, (uint64_t[]){ROOM * SECTOR});
    return log;
}

static void stop_and_recover(numbers *log, world *w)
{
    bool power = w->rate[WORLD_KILL] == 0 || (w->rate[WORLD_POWER_LOSS] != 0 && world_one_in(w, 2));

    world_count(STOPS);
    disk_start(&log->disk, !power);
    log->disk.quiet = true;
    recover(log);
    log->disk.quiet = false;
    if (log->next + 1 < log->sure)
        world_violation(w, "%llu numbers were acknowledged, %llu are there", (unsigned long long)log->sure,
                        (unsigned long long)log->next);
}

void world_step(void *row, world *w, unsigned step)
{
    numbers *log = row;

    (void)step;
    if (world_comes(w, WORLD_POWER_LOSS) || world_comes(w, WORLD_KILL))
        disk_stop_after(&log->disk, 1 + world_below(w, 3));
    bool done = log->next < ROOM && append(log);
    world_says(w, "append: %d, %llu", done, (unsigned long long)log->next);
    if (done && log->next > log->sure)
        log->sure = log->next;
    world_count(done ? APPENDS : FAILURES);
    if (log->disk.stopped)
        stop_and_recover(log, w);
}

void world_end(void *row, world *w)
{
    numbers *log = row;

    disk_stop(&log->disk);
    stop_and_recover(log, w);
    disk_free(&log->disk);
    free(log);
}
