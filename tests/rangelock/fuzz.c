/* SPDX-License-Identifier: PostgreSQL */
/*
 * libFuzzer target: bytes are calls of one thread on an `interval` lock. Its log must be right by the definition (judge.h),
 * and each call must return what the definition says.
 */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOLDS = 24, CALL_BYTES = 4, CALLS_MAX = 100, EVENTS = 3 * CALLS_MAX };

static unsigned long long granted, waited, refused, timeouts, cancelled, bad;

__attribute__((destructor)) static void print_tally(void)
{
    fprintf(stderr, "tally: granted=%llu waited=%llu refused=%llu timeouts=%llu cancelled=%llu bad=%llu\n",
            granted, waited, refused, timeouts, cancelled, bad);
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Whether a request is held, by the judge; it must be there. */
static bool is_held(const judge *j, uint64_t ticket)
{
    size_t i = find(j, ticket);

    require(i < j->n);
    return j->present[i].held;
}

/* A hold that is idle asks for a range: two bytes say which one. What is refused changes nothing. */
static void ask(pgq_rangelock *lock, pgq_rangelock_hold *hold, judge *j, const uint8_t bytes[])
{
    static const uint64_t far[] = {0, 1ull << 32, INT64_MAX - 8, INT64_MAX, 1ull << 63, UINT64_MAX - 3};
    uint64_t offset = (bytes[1] & 0xe0) == 0xe0 ? far[bytes[1] % 6] : bytes[1] % 32,
             length = (bytes[2] & 0xf0) == 0xf0 ? far[bytes[2] % 6] : bytes[2] % 12;
    bool is_bad = length == 0 || length > INT64_MAX || offset > INT64_MAX - length;
    bool is_try = bytes[0] & 0x40, exclusive = bytes[0] & 0x20, before = bytes[0] & 0x10, now = before;
    bool free_to_go = !is_bad && may_go(j, UINT64_MAX, offset, offset + length, exclusive);
    pgq_rangelock_hold as_it_was = *hold;
    pgq_status status = is_try ? pgq_rangelock_try(lock, hold, offset, length, exclusive)
                               : pgq_rangelock_request(lock, hold, offset, length, exclusive, &now);

    if (is_bad) {
        require(now == before && memcmp(hold, &as_it_was, sizeof *hold) == 0);
        require(status.code == (length == 0 ? PGQ_RANGELOCK_EMPTY : PGQ_RANGELOCK_OVERFLOW));
        bad++;
    } else if (is_try) {
        require(status.code == (free_to_go ? PGQ_OK : PGQ_RANGELOCK_BUSY));
        *(free_to_go ? &granted : &refused) += 1;
    } else {
        require(status.code == PGQ_OK && now == free_to_go);
        *(now ? &granted : &waited) += 1;
    }
}

/* A hold that is there leaves, or does what it may not. */
static void leave(pgq_rangelock *lock, pgq_rangelock_hold *hold, const judge *j, uint8_t how)
{
    if (is_held(j, hold->ticket)) {
        require(pgq_rangelock_cancel(lock, hold).code == PGQ_RANGELOCK_NOT_WAITING);
        require(pgq_rangelock_wait(lock, hold, 0).code == PGQ_OK);
        require(pgq_rangelock_unlock(lock, hold).code == PGQ_OK);
    } else if (how & 1) {
        require(pgq_rangelock_unlock(lock, hold).code == PGQ_RANGELOCK_NOT_HELD);
        require(pgq_rangelock_cancel(lock, hold).code == PGQ_OK);
        require(pgq_rangelock_wait(lock, hold, 0).code == PGQ_RANGELOCK_CANCELLED);
        cancelled++;
    } else {
        require(pgq_rangelock_wait(lock, hold, 0).code == PGQ_RANGELOCK_TIMEOUT);
        timeouts++;
    }
    require(pgq_rangelock_unlock(lock, hold).code == PGQ_RANGELOCK_NOT_HELD);
    require(pgq_rangelock_wait(lock, hold, 0).code == PGQ_RANGELOCK_NOT_WAITING);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pgq_rangelock_event events[EVENTS];
    pgq_rangelock_hold holds[HOLDS] = {{0}};
    bool there[HOLDS] = {false};
    judge j = {.n = 0};
    size_t logged = 0, at;
    pgq_rangelock *lock;

    require(pgq_rangelock_variants[pgq_rangelock_variant_count - 1].fn(-1, &lock).code == PGQ_OK);
    require(pgq_rangelock_log(lock, events, EVENTS).code == PGQ_OK);
    for (size_t call = 0; call < CALLS_MAX && (call + 1) * CALL_BYTES <= size; call++) {
        const uint8_t *bytes = data + call * CALL_BYTES;
        size_t which = bytes[3] % HOLDS, n;

        if (there[which])
            leave(lock, &holds[which], &j, bytes[0]);
        else
            ask(lock, &holds[which], &j, bytes);
        n = pgq_rangelock_logged(lock);
        require(n <= EVENTS && judge_log(&j, events + logged, n - logged, &at) == NULL);
        logged = n;
        there[which] = find(&j, holds[which].ticket) < j.n;
        for (size_t i = 0; i < HOLDS; i++)
            require(!there[i] || pgq_rangelock_is_held(lock, &holds[i]) == is_held(&j, holds[i].ticket));
    }
    for (size_t i = 0; i < HOLDS; i++)
        if (there[i] && pgq_rangelock_unlock(lock, &holds[i]).code != PGQ_OK)
            require(pgq_rangelock_cancel(lock, &holds[i]).code == PGQ_OK);
    require(pgq_rangelock_destroy(lock).code == PGQ_OK);
    return 0;
}
