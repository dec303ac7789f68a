/* SPDX-License-Identifier: PostgreSQL */
/*
 * Threads on one cache of 16 frames read, write, clean, sync, and write back. Each write has a number of its own, which is in all words
 * of its page. What each call saw, and when it began and ended, makes a history of each page. That must be one of a register: each
 * call takes effect at once, at some time between its begin and its end. Then the process stops, or the power goes, and the next
 * open must find what was synced, or what is newer, sector by sector.
 *
 *     tsan ROUNDS
 */
#include "../tests/tiercache/memory_files.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wrong(const char *what)
{
    printf("wrong answer: %s\n", what);
    fflush(stdout);
    _Exit(1);
}

#include "../tests/tiercache/orders.h"

enum {
    PAGES = 64,
    FRAMES = 16,
    SLOTS = 12,
    WORDS = PGQ_TIERCACHE_PAGE_SIZE / 8,
    WORKERS = 4,
    CALLS = 256 /* of each worker, in a life of the cache */
};

/* A read of a page, or a write to it: a number that was written, and two moments. */
typedef struct call {
    uint64_t page, number, begin, end;
    bool writes;
} call;

static memory_files files;
static pgq_tiercache *cache;
static call calls[WORKERS][CALLS];
static call all[PAGES + WORKERS * CALLS]; /* of one page */
static uint64_t held[PAGES];              /* as the life began */
static uint64_t synced;                   /* when the last fsync that succeeded began */
static int running;                       /* workers */
static uint64_t moment, seed;
static unsigned long long reads, writes, fsyncs, cleaned, kills, memory_hits, ssd_hits, store_reads;

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
static uint64_t some_page(uint64_t *random)
{
    return next_random(random) % 4 > 0 ? next_random(random) % 4 : next_random(random) % PAGES;
}

/* In order for the machine, and in none for ThreadSanitizer, which knows no fences. */
static uint64_t now(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t is = __atomic_add_fetch(&moment, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return is;
}

/* ---- files: others go on meanwhile, also on a single CPU ---- */

static int64_t slow_read(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    sched_yield();
    int64_t moved = memory_read(context, file, bytes, size, offset);
    sched_yield();
    return moved;
}

static int64_t slow_write(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    sched_yield();
    int64_t moved = memory_write(context, file, bytes, size, offset);
    sched_yield();
    return moved;
}

static int slow_sync(void *context, int file)
{
    for (int i = 0; i < 8; i++)
        sched_yield();
    return memory_sync(context, file);
}

/* ---- threads ---- */

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

static void write_number(uint64_t page, uint64_t number)
{
    uint64_t words[WORDS];

    for (int w = 0; w < WORDS; w++)
        words[w] = number;
    done(pgq_tiercache_write(cache, page, words), "write");
}

static void *work(void *worker)
{
    uint64_t me = (uint64_t)(uintptr_t)worker, random = seed + me;

    for (int i = 0; i < CALLS; i++) {
        call *c = &calls[me][i];

        *c = (call){.page = some_page(&random), .writes = next_random(&random) % 2 == 0, .begin = now()};
        if (c->writes)
            write_number(c->page, c->number = c->begin);
        else
            c->number = number_of(c->page);
        c->end = now();
    }
    __atomic_fetch_sub(&running, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *flush_pages(void *nothing)
{
    uint64_t random = seed;

    while (__atomic_load_n(&running, __ATOMIC_RELAXED) > 0) {
        uint64_t begin = now();

        if (next_random(&random) % 4 == 0) {
            done(pgq_tiercache_write_back(cache, next_random(&random) % (PAGES / 16)), "write_back");
        } else {
            done(pgq_tiercache_fsync(cache), "fsync");
            synced = begin;
        }
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

/* ---- histories ---- */

/* Of a number: when it was there at the latest, since a call that saw or wrote it ended, and when it was there still, since such a call
   began. If first < last it was there between, and nothing else was; if not, it was there at some moment between. */
typedef struct zone {
    uint64_t number, first, last, begin; /* begin: of the write */
} zone;

static int by_number(const void *a, const void *b)
{
    const call *x = a, *y = b;

    return x->number != y->number ? (x->number > y->number ? 1 : -1) : (int)y->writes - (int)x->writes;
}

/*
 * Whether all calls of a page are in some order of a register: Gibbons, Korach, "Testing shared memories", SIAM Journal on Computing
 * 26(4), 1997, section 4.1. Each number was written once.
 */
static void check_history(call seen[], size_t n)
{
    static zone zones[PAGES + WORKERS * CALLS];
    size_t m = 0;

    qsort(seen, n, sizeof *seen, by_number);
    for (size_t i = 0; i < n; i++) {
        const call *c = &seen[i];

        if (i == 0 || c->number != seen[i - 1].number) {
            if (!c->writes)
                wrong("a page holds what was never written to it");
            zones[m++] = (zone){c->number, c->end, c->begin, c->begin};
            continue;
        }
        zone *z = &zones[m - 1];
        if (c->end < z->begin)
            wrong("a read gives what was written later");
        z->first = c->end < z->first ? c->end : z->first;
        z->last = c->begin > z->last ? c->begin : z->last;
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            const zone *a = &zones[i], *b = &zones[j];

            if (i != j && a->first < a->last && a->first < b->last && b->first < a->last)
                wrong("a read gives neither the last write before it nor one beside it");
        }
}

/* left: of each page, what is read after the threads, or after a stop. since: it is as new as what was there then. */
static void check_histories(uint64_t since)
{
    for (uint64_t page = 0; page < PAGES; page++) {
        size_t n = 0;

        all[n++] = (call){page, held[page], 0, 0, true};
        for (int w = 0; w < WORKERS; w++)
            for (int i = 0; i < CALLS; i++)
                if (calls[w][i].page == page)
                    all[n++] = calls[w][i];
        held[page] = number_of(page);
        all[n++] = (call){page, held[page], since, UINT64_MAX, false};
        check_history(all, n);
    }
}

/* ---- lives of a cache ---- */

static void open_cache(unsigned long life)
{
    static const char *const policies[] = {NULL, "lru", "s3fifo"};
    pgq_tiercache_options options = {
        PAGES, FRAMES, life % 4 == 3 ? 0 : SLOTS, 1 + life % 2, policies[life % 3], life % 5 == 4 ? 4096 : 0};
    pgq_tiercache_files table = memory_table(&files);

    table.read = slow_read;
    table.write = slow_write;
    table.sync = slow_sync;
    done(pgq_tiercache_open(&table, &options, &cache), "open");
}

static void close_cache(void)
{
    pgq_tiercache_counts counts = pgq_tiercache_count(cache);

    memory_hits += counts.memory_hits;
    ssd_hits += counts.ssd_hits;
    store_reads += counts.store_reads;
    pgq_tiercache_close(cache);
}

static void live(unsigned long life)
{
    void *(*const bodies[])(void *) = {work, work, work, work, flush_pages, clean_frames};
    pthread_t threads[6];

    done(pgq_tiercache_fsync(cache), "the first fsync");
    synced = now();
    seed = synced;
    running = WORKERS;
    for (uintptr_t i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, bodies[i], (void *)i);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < CALLS; i++)
            ++*(calls[w][i].writes ? &writes : &reads);
    if (life % 2 == 0) {
        check_histories(now());
        return;
    }
    kills++;
    close_cache();
    open_cache(life);
    check_histories(synced);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

    for (int file = 0; file < 3; file++) {
        files.sizes[file] = memory_size(file, PAGES, SLOTS, 4096);
        files.words[file] = calloc(1, files.sizes[file]);
    }
    open_cache(0);
    write_number(0, 0);
    check_orders(cache);
    for (unsigned long life = 0; life < rounds / CALLS; life++)
        live(life);
    close_cache();
    printf("tally: writes=%llu reads=%llu fsyncs=%llu cleaned=%llu kills=%llu memory_hits=%llu ssd_hits=%llu "
           "store_reads=%llu\n",
           writes, reads, fsyncs, cleaned, kills, memory_hits, ssd_hits, store_reads);
    return 0;
}
