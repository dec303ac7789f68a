/* SPDX-License-Identifier: PostgreSQL */
/*
 * Threads on one cache: two write their own pages and read them back, one reads all, one calls fsync and write_back, one cleans.
 * A page holds one number in all its words, larger with each write. A reader never sees a mixture or an older number;
 * after the last fsync the store has the last number of each page.
 *
 *     tsan ROUNDS
 */
#include "../tests/tiercache/memory_files.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGES = 64, FRAMES = 16, SLOTS = 12, WORDS = PGQ_TIERCACHE_PAGE_SIZE / 8 };

static memory_files files;
static pgq_tiercache *cache;
static unsigned long rounds;
static int running = 2; /* writers */
static uint64_t last[PAGES];
static unsigned long long writes, reads, fsyncs, cleaned;

static void wrong(const char *what)
{
    printf("wrong answer: %s\n", what);
    fflush(stdout);
    _Exit(1);
}

static void done(pgq_status status, const char *what)
{
    if (status.code != PGQ_OK)
        wrong(what);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Three times of four one of a few, which stay in memory: a hit takes no lock, by which the threads would be in some order. */
static uint64_t some_of(uint64_t n, uint64_t *random)
{
    return next_random(random) % 4 > 0 ? next_random(random) % 4 : next_random(random) % n;
}

/* A sync takes its time, in which the other threads go on: on a single CPU they hardly would otherwise. */
static int slow_sync(void *context, int file)
{
    for (int i = 0; i < 8; i++)
        sched_yield();
    return memory_sync(context, file);
}

/* The number that a page holds. */
static uint64_t number_of(uint64_t page)
{
    uint64_t words[WORDS];

    done(pgq_tiercache_read(cache, page, words), "read");
    for (int i = 1; i < WORDS; i++)
        if (words[i] != words[0])
            wrong("a page is a mixture");
    return words[0];
}

/* Pages with numbers of one parity belong to a writer. */
static void *write_pages(void *parity)
{
    uint64_t random = (uint64_t)(uintptr_t)parity, words[WORDS], numbers[PAGES] = {0};

    for (unsigned long i = 0; i < rounds; i++) {
        uint64_t page = some_of(PAGES / 2, &random) * 2 + (uint64_t)(uintptr_t)parity;

        if (number_of(page) != numbers[page])
            wrong("a writer does not read what it has written");
        numbers[page]++;
        for (int w = 0; w < WORDS; w++)
            words[w] = numbers[page];
        done(pgq_tiercache_write(cache, page, words), "write");
        __atomic_fetch_add(&writes, 1, __ATOMIC_RELAXED);
    }
    for (uint64_t page = (uint64_t)(uintptr_t)parity; page < PAGES; page += 2)
        last[page] = numbers[page];
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *read_pages(void *nothing)
{
    uint64_t random = 7, seen[PAGES] = {0};

    while (__atomic_load_n(&running, __ATOMIC_RELAXED) > 0) {
        uint64_t page = some_of(PAGES, &random), number = number_of(page);

        if (number < seen[page])
            wrong("a reader sees an older number");
        seen[page] = number;
        reads++;
    }
    return nothing;
}

static void *flush_pages(void *nothing)
{
    uint64_t random = 11;

    while (__atomic_load_n(&running, __ATOMIC_RELAXED) > 0) {
        if (next_random(&random) % 4 == 0)
            done(pgq_tiercache_write_back(cache, next_random(&random) % (PAGES / 16)), "write_back");
        else
            done(pgq_tiercache_fsync(cache), "fsync");
        fsyncs++;
    }
    return nothing;
}

/* By few steps at a time, so that others come between. */
static void *clean_frames(void *nothing)
{
    uint32_t pages_left;

    while (__atomic_load_n(&running, __ATOMIC_RELAXED) > 0) {
        done(pgq_tiercache_clean(cache, FRAMES / 4, 2, &pages_left), "clean");
        if (pages_left > FRAMES)
            wrong("more pages are to leave than there are");
        cleaned += pages_left > 0;
        sched_yield();
    }
    return nothing;
}

int main(int argc, char **argv)
{
    void *(*const bodies[])(void *) = {write_pages, write_pages, read_pages, flush_pages, clean_frames};
    pthread_t threads[5];
    pgq_tiercache_options options = {PAGES, FRAMES, SLOTS, 2, NULL, 0};

    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    for (int file = 0; file < 3; file++) {
        files.sizes[file] = memory_size(file, PAGES, SLOTS, 512);
        files.words[file] = calloc(1, files.sizes[file]);
    }
    pgq_tiercache_files table = memory_table(&files);
    table.sync = slow_sync;
    done(pgq_tiercache_open(&table, &options, &cache), "open");
    for (uintptr_t i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, bodies[i], (void *)i);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    done(pgq_tiercache_fsync(cache), "the last fsync");
    for (uint64_t page = 0; page < PAGES; page++)
        if (files.words[PGQ_TIERCACHE_FILE_STORE][page * WORDS] != last[page])
            wrong("an fsync has not written the newest contents");
    pgq_tiercache_counts counts = pgq_tiercache_count(cache);
    printf("tally: writes=%llu reads=%llu fsyncs=%llu cleaned=%llu memory_hits=%llu ssd_hits=%llu "
           "store_reads=%llu\n",
           writes, reads, fsyncs, cleaned, (unsigned long long)counts.memory_hits,
           (unsigned long long)counts.ssd_hits, (unsigned long long)counts.store_reads);
    pgq_tiercache_close(cache);
    return 0;
}
