// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to lock and unlock a range?
//   uncontended  nothing else is held; `mutex` is a pthread mutex, locked and unlocked
//   held         n other pages are held exclusively, among which the range lies; `log` is the time with 16 held, times
//                log2(n) / 4: what a cost that grows as the logarithm would be
//   wide         as uncontended, but the ranges have 1 to 64 pages, and none begins at a page; `mutexes` has no such ranges
// Beside the variants: the peers of peers.h.
#include "locks.h"

#include <cmath>
#include <numeric>
#include <pthread.h>

namespace
{
using rangelock::File;
using rangelock::PAGE;

constexpr size_t CALLS = 2000;

void add_uncontended(pgq_rangelock_mode mode)
{
    std::string name = std::string("rangelock/kind=uncontended/mode=") + (mode ? "exclusive" : "shared");
    auto variants = rangelock::variants_and_peers();
    variants.push_back({"mutex", nullptr});
    bench::add(name, bench::names_of(variants), 25, [=]() -> bench::Timer {
        rangelock::have_threads();
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            if (variants[v].name == "mutex") {
                pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
                return bench::time_group(CALLS, [&](size_t) {
                    pthread_mutex_lock(&mutex);
                    pthread_mutex_unlock(&mutex);
                });
            }
            return rangelock::with_lock(variants[v], file->fd, [&]<typename Lock>(Lock &lock) {
                typename Lock::Hold hold{};
                return bench::time_group(CALLS, [&](size_t i) {
                    lock.take(hold, i % 64 * PAGE, PAGE, mode);
                    lock.release(hold);
                });
            });
        };
    });
}

void add_wide()
{
    auto variants = rangelock::variants();
    variants.push_back({"list", nullptr});
    bench::add("rangelock/kind=wide", bench::names_of(variants), 25, [=]() -> bench::Timer {
        rangelock::have_threads();
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            return rangelock::with_lock(variants[v], file->fd, [&]<typename Lock>(Lock &lock) {
                typename Lock::Hold hold{};
                return bench::time_group(CALLS, [&](size_t i) {
                    lock.take(hold, i % 64 * PAGE + 512, (1 + i % 64) * PAGE, PGQ_RANGELOCK_EXCLUSIVE);
                    lock.release(hold);
                });
            });
        };
    });
}

// Seconds of a lock and unlock at random places between n pages that are held, taken in random order. The places do not come
// again in the same order, whatever n is: otherwise the branch predictor would learn them. The list is filled from its end,
// which is quick, and leaves its nodes in order, which favours it; and it is asked less often if it is long.
double among_held(const rangelock::Variant &variant, int fd, size_t n)
{
    static std::mt19937_64 random; // goes on from call to call
    bool is_list = variant.name == "list";
    std::vector<uint64_t> order(n);
    std::iota(order.rbegin(), order.rend(), uint64_t{0});
    if (!is_list)
        std::shuffle(order.begin(), order.end(), random);
    std::vector<uint64_t> places(is_list && n > 1000 ? CALLS / 20 : CALLS);
    for (uint64_t &place : places)
        place = 2 * (random() % n) + 1;
    return rangelock::with_lock(variant, fd, [&]<typename Lock>(Lock &lock) {
        std::vector<typename Lock::Hold> holds(n);
        for (size_t i = 0; i < n; i++)
            lock.take(holds[i], 2 * order[i] * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
        typename Lock::Hold hold{};
        double seconds = bench::time_group(places.size(), [&](size_t i) {
            lock.take(hold, places[i] * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
            lock.release(hold);
        });
        for (typename Lock::Hold &other : holds)
            lock.release(other);
        return seconds;
    });
}

void add_held(size_t n)
{
    std::string name = "rangelock/kind=held/n=" + std::to_string(n);
    std::vector<rangelock::Variant> variants;
    for (const rangelock::Variant &variant : rangelock::variants())
        if (variant.name == "interval" ||
            (variant.name == "ofd" && n <= 256)) // ofd has a descriptor for each
            variants.push_back(variant);
    const rangelock::Variant interval = variants.back();
    variants.push_back({"interval-again", interval.fn});
    variants.push_back({"mutexes", nullptr});
    variants.push_back({"list", nullptr});
    variants.push_back({"log", nullptr});
    bench::add(name, bench::names_of(variants), 9, [=]() -> bench::Timer {
        rangelock::have_threads();
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            if (variants[v].name == "log")
                return among_held(interval, file->fd, 16) * std::log2(n) / 4;
            return among_held(variants[v], file->fd, n);
        };
    });
}

const bench::UsesAllCpus threads;
const bench::Registration uncontended{[] {
    add_uncontended(PGQ_RANGELOCK_SHARED);
    add_uncontended(PGQ_RANGELOCK_EXCLUSIVE);
    add_wide();
    for (size_t n : {16, 256, 1000, 10000})
        add_held(n);
}};
} // namespace
