/* SPDX-License-Identifier: PostgreSQL */
/*
 * KnownAssignedXids with readers: the startup process adds, removes and compresses while others search and copy. Each
 * holds exactly the lock that the contract in snapbuild.h demands: readers hold it shared, an addition that fits holds
 * none, all others hold it exclusively. Built with ThreadSanitizer the program shows data races; built without it runs
 * at full speed. In both cases each answer must have been true at some moment of the call:
 * - an XID whose addition had ended before must be there, and one that this reader has seen, unless it was removed;
 * - an XID whose addition had not begun after must not be there, nor one that was removed or never added;
 * - a copy is what was live up to some point, without a gap.
 * A removal holds the lock exclusively, so what is removed does not change while a reader looks.
 *
 * A round begins with an empty array a few XIDs before the wrap and adds beyond it. An XID is known by its index in the
 * round; the last ones of each block of indexes are never added. argv[1]: rounds. Ends with a tally.
 */
#include "pgquern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READERS = 3,
    CAPACITY = 96,
    INDEXES = 512,   /* of a round */
    BLOCK = 16,      /* indexes, of which ... */
    ADDED = 13,      /* ... so many are added, from the first on */
    LOOKS = 8,       /* of a reader, with the lock held */
    WRONG_ANSWER = 1 /* exit code; ThreadSanitizer has its own */
};

static struct {
    pthread_rwlock_t lock;
    pgq_snapbuild_known_assigned known;
    uint32_t first;        /* the XID of index 0 */
    bool removed[INDEXES]; /* these, like the two around them, change with the lock held exclusively */
    unsigned round;
    atomic_size_t begun; /* additions have begun of the indexes below this */
    atomic_size_t ended; /* and ended of those below this */
    atomic_bool over;
    uint32_t xids[CAPACITY];
    bool valid[CAPACITY];
} standby;

typedef struct reader {
    pthread_t thread;
    uint32_t random;
    unsigned round;
    size_t seen; /* in this round: what was added below this was there */
    unsigned long answers, found, unordered, meanwhile, wrapped;
} reader;

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % n;
}

static void require(bool holds, const char *what, size_t index)
{
    if (!holds) {
        fprintf(stderr, "wrong answer: %s (index %zu, first XID %u)\n", what, index, standby.first);
        _Exit(WRONG_ANSWER);
    }
}

static uint32_t xid_of(size_t index)
{
    uint64_t xid = (uint64_t)standby.first + index;

    return xid <= UINT32_MAX ? (uint32_t)xid : (uint32_t)xid + 3;
}

static bool is_live(size_t index)
{
    return index % BLOCK < ADDED && !standby.removed[index];
}

/* ---- readers --------------------------------------------------------------------------------------------------- */

/*
 * The XIDs that must be there at least. To read which additions have ended acquires all that the writer did. That would
 * order what the head alone should order, so only every other call reads it.
 */
static size_t certain(reader *me)
{
    size_t ended = 0;

    if (draw(&me->random, 2) == 0)
        ended = atomic_load_explicit(&standby.ended, memory_order_acquire);
    else
        me->unordered++;
    return ended > me->seen ? ended : me->seen;
}

/* Mostly near the head, where XIDs are added. */
static size_t somewhere(reader *me)
{
    size_t begun = atomic_load_explicit(&standby.begun, memory_order_relaxed), back = draw(&me->random, 8);
    size_t index = begun >= back && back < 6 ? begun - back : draw(&me->random, (uint32_t)begun + BLOCK);

    return index < INDEXES ? index : INDEXES - 1;
}

static void search(reader *me)
{
    size_t low = certain(me), index = somewhere(me), high;
    bool found = pgq_snapbuild_known_assigned_search(&standby.known, xid_of(index));

    /* A search that found the XID has loaded a head that was stored after this. */
    high = atomic_load_explicit(&standby.begun, memory_order_relaxed);
    if (found) {
        require(index < high, "found before its addition began", index);
        require(is_live(index), "found, but removed or never added", index);
        if (index >= me->seen)
            me->seen = index + 1;
        me->found++;
        me->wrapped += xid_of(index) < INDEXES;
    } else
        require(index >= low || !is_live(index), "not found", index);
}

static void copy(reader *me)
{
    size_t low = certain(me), end = somewhere(me), high, n, index = 0;
    bool all = draw(&me->random, 2) == 0;
    uint32_t xids[CAPACITY];
    pgq_status status =
        pgq_snapbuild_known_assigned_get(&standby.known, all ? 0 : xid_of(end), xids, CAPACITY, &n);

    high = atomic_load_explicit(&standby.begun, memory_order_relaxed);
    require(status.code == PGQ_OK, "a copy was refused", 0);
    if (all)
        end = INDEXES;
    for (size_t i = 0; i < n; i++, index++) {
        while (index < high && !is_live(index))
            index++;
        require(index < high && xids[i] == xid_of(index), "copied another", index);
    }
    require(index <= end, "copied beyond xmax", index);
    if (index > me->seen)
        me->seen = index;
    for (; index < low && index < end; index++)
        require(!is_live(index), "not copied", index);
    me->found += n;
}

static void *read_on(void *argument)
{
    reader *me = argument;

    while (!atomic_load_explicit(&standby.over, memory_order_relaxed)) {
        pthread_rwlock_rdlock(&standby.lock);
        if (me->round != standby.round) {
            me->round = standby.round;
            me->seen = 0;
        }
        for (int look = 0; look < LOOKS; look++) {
            size_t ended = atomic_load_explicit(&standby.ended, memory_order_relaxed);

            if (draw(&me->random, 4) == 0)
                copy(me);
            else
                search(me);
            me->answers++;
            me->meanwhile += atomic_load_explicit(&standby.begun, memory_order_relaxed) > ended;
        }
        pthread_rwlock_unlock(&standby.lock);
    }
    return NULL;
}

/* ---- the startup process --------------------------------------------------------------------------------------- */

static uint32_t writer_random = 1;
static unsigned long compressions;

static void wait_for_readers(void)
{
    pthread_rwlock_wrlock(&standby.lock);
}

static void let_readers(void)
{
    pthread_rwlock_unlock(&standby.lock);
}

static void done(pgq_status status, const char *what)
{
    if (status.code != PGQ_OK) {
        fprintf(stderr, "wrong answer: %s: %s\n", what, pgq_strerror(status.code));
        _Exit(WRONG_ANSWER);
    }
}

static void begin_round(void)
{
    wait_for_readers();
    done(pgq_snapbuild_known_assigned_remove_preceding(&standby.known, 0, NULL, 0, 1), "remove all");
    standby.round++;
    standby.first = UINT32_MAX - draw(&writer_random, INDEXES);
    memset(standby.removed, false, sizeof standby.removed);
    atomic_store_explicit(&standby.begun, 0, memory_order_relaxed);
    atomic_store_explicit(&standby.ended, 0, memory_order_relaxed);
    let_readers();
}

static void remove_preceding(size_t index)
{
    size_t kept = draw(&writer_random, (uint32_t)index + 1);
    uint32_t prepared = xid_of(kept);

    wait_for_readers();
    done(pgq_snapbuild_known_assigned_remove_preceding(&standby.known, xid_of(index), &prepared, 1, 1),
         "remove preceding");
    for (size_t i = 0; i < index; i++)
        standby.removed[i] |= i != kept;
    let_readers();
}

/* A transaction that ends with those after it, of the ones below `next`, as its subtransactions. */
static void remove_tree(size_t next)
{
    size_t index = draw(&writer_random, (uint32_t)next), n = draw(&writer_random, 6);
    uint32_t subxids[5];

    n = n < next - index ? n : next - index - 1;
    for (size_t i = 0; i < n; i++)
        subxids[i] = xid_of(index + 1 + i);
    wait_for_readers();
    done(pgq_snapbuild_known_assigned_remove_tree(&standby.known, xid_of(index), subxids, n, 1),
         "remove a tree");
    memset(standby.removed + index, true, n + 1);
    let_readers();
}

static void compress(void)
{
    pgq_snapbuild_compress_reason reason = draw(&writer_random, 4);
    bool compressed;

    wait_for_readers();
    done(pgq_snapbuild_known_assigned_compress(&standby.known, reason, 1, &compressed), "compress");
    let_readers();
    compressions += compressed;
}

/* Adds from index `next` on, within the block; returns the index after. */
static size_t add(size_t next)
{
    size_t n = 1 + draw(&writer_random, (uint32_t)(ADDED - next % BLOCK));
    bool compresses;

    if (standby.known.num + n > CAPACITY)
        remove_preceding(next);
    compresses = standby.known.head + n > CAPACITY;
    if (compresses)
        wait_for_readers();
    atomic_store_explicit(&standby.begun, next + n, memory_order_relaxed);
    done(pgq_snapbuild_known_assigned_add(&standby.known, xid_of(next), xid_of(next + n - 1), 1), "add");
    atomic_store_explicit(&standby.ended, next + n, memory_order_release);
    if (compresses)
        let_readers();
    compressions += compresses;
    next += n;
    return next % BLOCK < ADDED ? next : next + BLOCK - next % BLOCK;
}

static void write_round(void)
{
    size_t next = 0;

    begin_round();
    while (next < INDEXES) {
        uint32_t action = draw(&writer_random, 40);

        if (next == 0 || action < 30)
            next = add(next);
        else if (action < 36)
            remove_tree(next);
        else if (action < 37)
            remove_preceding(draw(&writer_random, (uint32_t)next));
        else
            compress();
    }
}

static void start(void)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    /* Otherwise three readers would never let it in. */
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&standby.lock, &attributes);
    standby.known.xids = standby.xids;
    standby.known.valid = standby.valid;
    standby.known.capacity = CAPACITY;
    standby.first = 3;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    reader readers[READERS] = {{0}}, sum = {0};

    start();
    for (int i = 0; i < READERS; i++) {
        readers[i].random = (uint32_t)i + 2;
        if (pthread_create(&readers[i].thread, NULL, read_on, &readers[i]) != 0)
            return WRONG_ANSWER;
    }
    for (unsigned round = 0; round < rounds; round++) {
        const pgq_snapbuild_known_assigned_variant *variant =
            &pgq_snapbuild_known_assigned_variants[round % pgq_snapbuild_known_assigned_variant_count];

        if (variant->supported())
            standby.known.variant = variant;
        write_round();
    }
    atomic_store(&standby.over, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        sum.answers += readers[i].answers;
        sum.found += readers[i].found;
        sum.unordered += readers[i].unordered;
        sum.meanwhile += readers[i].meanwhile;
        sum.wrapped += readers[i].wrapped;
    }
    printf("tally: rounds=%u answers=%lu found=%lu unordered=%lu during_an_addition=%lu wrapped=%lu "
           "compressions=%lu\n",
           rounds, sum.answers, sum.found, sum.unordered, sum.meanwhile, sum.wrapped, compressions);
    return 0;
}
