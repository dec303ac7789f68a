/* SPDX-License-Identifier: PostgreSQL */
#include "figures.h"

#include "asker.h"
#include "cache.h"
#include "io.h"
#include "mount.h"
#include "pages.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 160 /* four for each power of two, up to 2^40 ns */

static struct done {
    atomic_ullong requests, bytes, took[BUCKETS];
} done[ASKERS][FIGURES];

static const char *const kinds[] = {
#define X(kind, name) name,
    KINDS_OF(X)
#undef X
};

uint64_t figures_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static unsigned bucket_of(uint64_t ns)
{
    if (ns < 4)
        return (unsigned)ns;
    unsigned power = 63 - (unsigned)__builtin_clzll(ns), bucket = 4 * (power - 1) + (ns >> (power - 2) & 3);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The least time that lies behind the bucket. */
static uint64_t end_of(unsigned bucket)
{
    return bucket < 4 ? bucket + 1 : (uint64_t)(bucket % 4 + 5) << (bucket / 4 - 1);
}

void figures_add(figure what, uint64_t bytes, uint64_t since)
{
    struct done *d = &done[asker_now()][what];

    d->requests++;
    d->bytes += bytes;
    d->took[bucket_of(figures_clock() - since)]++;
}

/* So many of a hundred took less. 0: there is none. */
static unsigned long long quantile(struct done *d, unsigned percent)
{
    unsigned long long all = 0, seen = 0;

    for (unsigned i = 0; i < BUCKETS; i++)
        all += d->took[i];
    for (unsigned i = 0; i < BUCKETS; i++)
        if ((seen += d->took[i]) * 100 >= all * percent && seen > 0)
            return end_of(i);
    return 0;
}

typedef struct text {
    char *at, *end;
} text;

static void line(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(text *t, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    int n = vsnprintf(t->at, (size_t)(t->end - t->at), format, list);
    va_end(list);
    t->at = n < t->end - t->at ? t->at + n : t->end;
}

size_t figures_text(char *start, size_t size)
{
    text t = {start, start + size};
    pages_figures now = pages_now();
    cache_figures cached = cache_now();
    uint32_t shares[ASKERS];

    line(&t, "data %s\nmountpoint %s\nprotect %s\npg_wal %s\ndaemon %d\n", options.data, options.mountpoint,
         options.protect ? "double-write" : "none", options.wal_direct ? "direct" : "through", (int)getpid());
    line(&t, "pages_dirty %llu\npages_of_memory %llu\n", (unsigned long long)now.dirty,
         (unsigned long long)now.most);
#define X(name) line(&t, #name " %llu\n", (unsigned long long)counts.name);
    COUNTERS(X)
#undef X
    if (cached.on)
        line(&t, "cache_memory_hits %llu\ncache_ssd_hits %llu\ncache_reads_below %llu\ncache_ssd %s\n",
             (unsigned long long)cached.memory_hits, (unsigned long long)cached.ssd_hits,
             (unsigned long long)cached.below, cached.ssd_in_use ? options.ssd : "none");
    io_look(shares);
    for (int a = 0; a < ASKERS; a++) {
        line(&t, "class %s %u %u\n", asker_names[a], shares[a], io_queue((asker)a));
        for (int k = 0; k < FIGURES; k++)
            line(&t, "done %s %s %llu %llu %llu %llu\n", asker_names[a], kinds[k],
                 (unsigned long long)done[a][k].requests, (unsigned long long)done[a][k].bytes,
                 quantile(&done[a][k], 50), quantile(&done[a][k], 99));
    }
    line(&t, "said_last %s\n", last_said());
    return (size_t)(t.at - start);
}
