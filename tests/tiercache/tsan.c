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
    SECTOR = 512,
    WORKERS = 6,
    CALLS = 32 /* of each worker, in a life of the cache */
};

/* A read of a page, or a write to it: a number that was written, and two moments. */
typedef struct call {
    uint64_t page, number, begin, end;
    bool writes;
} call;

static memory_files files;
static uint64_t *durable[3];
static uint32_t *turns[3], *synced_turns[3]; /* of each sector; the turn that is durable */
static pgq_tiercache *cache;
static call calls[WORKERS][CALLS];
static call all[WORKERS * CALLS + 2]; /* of one page */
static uint64_t held[PAGES];          /* as the life began */
static uint64_t synced[WORKERS];      /* when its last fsync that succeeded began */
static uint64_t moment, seed;
static unsigned long long reads, writes, fsyncs, cleaned, kills, losses, memory_hits, ssd_hits, store_reads;

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

/* Half of the times one of a few, which stay in memory: a hit takes no lock, by which the threads would be in some order. */
static uint64_t some_page(uint64_t *random)
{
    return next_random(random) % (next_random(random) % 2 == 0 ? 4 : PAGES);
}

/* In order for the machine, and in none for ThreadSanitizer, which knows no fences. */
static uint64_t now(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t is = __atomic_add_fetch(&moment, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return is;
}

/* ---- files: sectors are written whole, and others go on meanwhile, also on a single CPU ---- */

/* Odd: the sector is being written. */
static uint32_t turn_of(int file, uint64_t sector)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint32_t is = __atomic_load_n(&turns[file][sector], __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return is;
}

static int64_t slow_read(void *context, int file, void *bytes, uint64_t size, uint64_t offset)
{
    sched_yield();
    int64_t moved = memory_read(context, file, bytes, size, offset);
    sched_yield();
    return moved;
}

static int64_t slow_write(void *context, int file, const void *bytes, uint64_t size, uint64_t offset)
{
    for (uint64_t at = 0; at < size; at += SECTOR) {
        uint32_t *now_at = &turns[file][(offset + at) / SECTOR];

        sched_yield();
        __atomic_add_fetch(now_at, 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (memory_write(context, file, (const uint8_t *)bytes + at, SECTOR, offset + at) != SECTOR)
            return -1;
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        __atomic_add_fetch(now_at, 1, __ATOMIC_RELAXED);
    }
    return (int64_t)size;
}

/* A sector becomes durable as it is at some moment of the sync; what is written later does not. */
static int slow_sync(void *context, int file)
{
    uint64_t *word = durable[file];

    for (uint64_t s = 0; s < files.sizes[file] / SECTOR; s++, word += SECTOR / 8)
        for (uint32_t before = synced_turns[file][s], after; (after = turn_of(file, s)) != before;
             before = after)
            if (after % 2 == 0 && memory_read(context, file, word, SECTOR, s * SECTOR) == SECTOR)
                synced_turns[file][s] = after;
            else
                sched_yield();
    for (int i = 0; i < 8; i++)
        sched_yield();
    return 0;
}

/* A sector that was written since its last sync is as it was then, or as it is. */
static void lose_power(uint64_t random)
{
    for (int file = 0; file < 3; file++)
        for (uint64_t s = 0; s < files.sizes[file] / SECTOR; s++) {
            uint64_t *is = files.words[file] + s * SECTOR / 8, *was = durable[file] + s * SECTOR / 8;

            if (next_random(&random) % 4 > 0)
                memcpy(is, was, SECTOR);
            else
                memcpy(was, is, SECTOR);
        }
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

/* By few steps at a time, so that others come between. */
static void clean(uint64_t random)
{
    uint32_t pages_left;
    uint64_t page;

    done(pgq_tiercache_clean(cache, random % (FRAMES / 2), random % 4, &pages_left), "clean");
    if (pages_left > FRAMES || pgq_tiercache_count(cache).ssd_taken_over > SLOTS)
        wrong("more pages than there is room for");
    if (pgq_tiercache_failed(cache, random % PAGES, &page) != PGQ_TIERCACHE_FAILED_NONE)
        wrong("a write-back has failed, and no file has");
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static void sync_all(uint64_t *last)
{
    uint64_t begin = now();

    done(pgq_tiercache_fsync(cache), "fsync");
    *last = begin;
    __atomic_fetch_add(&fsyncs, 1, __ATOMIC_RELAXED);
}

static void *work(void *worker)
{
    uint64_t me = (uint64_t)(uintptr_t)worker, random = seed + me;

    synced[me] = 0;
    for (int i = 0; i < CALLS; i++) {
        call *c = &calls[me][i];
        uint64_t what = next_random(&random) % 32;

        if (what == 0)
            sync_all(&synced[me]);
        if (what == 1)
            done(pgq_tiercache_write_back(cache, next_random(&random) % (PAGES / 16)), "write_back");
        if (what < 4)
            clean(next_random(&random));
        *c = (call){.page = some_page(&random), .writes = next_random(&random) % 2 == 0, .begin = now()};
        if (c->writes)
            write_number(c->page, c->number = c->begin);
        else
            c->number = number_of(c->page);
        c->end = now();
    }
    return NULL;
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
static void check_history(size_t n)
{
    static call seen[WORKERS * CALLS + 2];
    static zone zones[WORKERS * CALLS + 2];
    size_t m = 0;

    memcpy(seen, all, n * sizeof *seen);
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

/* What is left of each page is as new, sector by sector, as what was there then. */
static void check_histories(uint64_t since)
{
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t words[WORDS];
        size_t n = 0;

        all[n++] = (call){page, held[page], 0, 0, true};
        for (int w = 0; w < WORKERS; w++)
            for (int i = 0; i < CALLS; i++)
                if (calls[w][i].page == page)
                    all[n++] = calls[w][i];
        done(pgq_tiercache_read(cache, page, words), "read");
        held[page] = words[0];
        for (int w = 0; w < WORDS; w++) {
            if (w % (SECTOR / 8) > 0 && words[w] != words[w - 1])
                wrong("a sector is a mixture");
            if (w > 0 && words[w] == words[w - 1])
                continue;
            all[n] = (call){page, words[w], since, UINT64_MAX, false};
            check_history(n + 1);
            if (words[w] != words[0])
                write_number(page, held[page] = now());
        }
    }
}

/* ---- lives of a cache ---- */

static void open_cache(unsigned long long nth)
{
    static const char *const policies[] = {NULL, "lru", "s3fifo"};
    pgq_tiercache_options options = {
        PAGES, FRAMES, nth % 4 == 3 ? 0 : SLOTS, 1 + nth % 2, policies[nth % 3], nth % 5 == 4 ? 4096 : 0,
        false};
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
    pthread_t threads[WORKERS];
    uint64_t since = 0;

    sync_all(&since);
    seed = since;
    for (uintptr_t w = 0; w < WORKERS; w++)
        pthread_create(&threads[w], NULL, work, (void *)w);
    for (int w = 0; w < WORKERS; w++) {
        pthread_join(threads[w], NULL);
        since = synced[w] > since ? synced[w] : since;
        for (int i = 0; i < CALLS; i++)
            ++*(calls[w][i].writes ? &writes : &reads);
    }
    if (life % 2 == 0) {
        check_histories(now());
        return;
    }
    close_cache();
    if (life % 4 == 1 && ++losses > 0)
        lose_power(seed);
    else
        kills++;
    open_cache(kills + losses);
    check_histories(since);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

    for (int file = 0; file < 3; file++) {
        files.sizes[file] = memory_size(file, PAGES, SLOTS, 4096);
        files.words[file] = calloc(1, files.sizes[file]);
        durable[file] = calloc(1, files.sizes[file]);
        turns[file] = calloc(files.sizes[file] / SECTOR, sizeof **turns);
        synced_turns[file] = calloc(files.sizes[file] / SECTOR, sizeof **turns);
    }
    open_cache(0);
    write_number(0, now());
    check_orders(cache);
    for (uint64_t page = 0; page < PAGES; page++)
        held[page] = number_of(page);
    for (unsigned long life = 0; life < rounds / CALLS; life++)
        live(life);
    close_cache();
    printf("tally: writes=%llu reads=%llu fsyncs=%llu cleaned=%llu kills=%llu losses=%llu memory_hits=%llu "
           "ssd_hits=%llu "
           "store_reads=%llu\n",
           writes, reads, fsyncs, cleaned, kills, losses, memory_hits, ssd_hits, store_reads);
    return 0;
}
