// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to lock and unlock a range?
//   uncontended  nothing else is held; `mutex` is a pthread mutex, locked and unlocked
//   held         n other pages are held exclusively, among which the range lies; `log` is the time with 16 held, times
//                log2(n) / 4: what a cost that grows as the logarithm would be
#include "locks.h"

#include <cmath>
#include <numeric>
#include <pthread.h>

namespace
{
using rangelock::File;
using rangelock::Lock;
using rangelock::PAGE;

constexpr size_t CALLS = 2000;

void add_uncontended(pgq_rangelock_mode mode)
{
    std::string name = std::string("rangelock/kind=uncontended/mode=") + (mode ? "exclusive" : "shared");
    auto variants = rangelock::variants();
    variants.push_back({"mutex", nullptr});
    bench::add(name, bench::names_of(variants), 25, [=]() -> bench::Timer {
        rangelock::have_threads();
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            if (variants[v].fn == nullptr) {
                pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
                return bench::time_group(CALLS, [&](size_t) {
                    pthread_mutex_lock(&mutex);
                    pthread_mutex_unlock(&mutex);
                });
            }
            Lock lock(variants[v], file->fd);
            pgq_rangelock_hold hold{};
            return bench::time_group(CALLS, [&](size_t i) {
                lock.take(hold, i % 64 * PAGE, PAGE, mode);
                lock.release(hold);
            });
        };
    });
}

// Seconds of a lock and unlock at random places between n pages that are held, taken in random order. The places do not come
// again in the same order, whatever n is: otherwise the branch predictor would learn them.
double among_held(const rangelock::Variant &variant, int fd, size_t n)
{
    static std::mt19937_64 random; // goes on from call to call
    std::vector<uint64_t> order(n);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<pgq_rangelock_hold> holds(n);
    Lock lock(variant, fd);
    for (size_t i = 0; i < n; i++)
        lock.take(holds[i], 2 * order[i] * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
    std::vector<uint64_t> places(CALLS);
    for (uint64_t &place : places)
        place = 2 * (random() % n) + 1;
    pgq_rangelock_hold hold{};
    double seconds = bench::time_group(CALLS, [&](size_t i) {
        lock.take(hold, places[i] * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
        lock.release(hold);
    });
    for (pgq_rangelock_hold &other : holds)
        lock.release(other);
    return seconds;
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
    variants.push_back({"log", nullptr});
    bench::add(name, bench::names_of(variants), 9, [=]() -> bench::Timer {
        rangelock::have_threads();
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            if (variants[v].fn == nullptr)
                return among_held(interval, file->fd, 16) * std::log2(n) / 4;
            return among_held(variants[v], file->fd, n);
        };
    });
}

const bench::UsesAllCpus threads;
const bench::Registration uncontended{[] {
    add_uncontended(PGQ_RANGELOCK_SHARED);
    add_uncontended(PGQ_RANGELOCK_EXCLUSIVE);
    for (size_t n : {16, 256, 1000, 10000})
        add_held(n);
}};
} // namespace
