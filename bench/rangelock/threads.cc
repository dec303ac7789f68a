// SPDX-License-Identifier: PostgreSQL
//
// How many calls do 16 threads get through on one file? The time is the one from start to end, divided by all calls.
//   disjoint  each thread locks a range of its own exclusively, and waits `wait` microseconds, as for I/O
//   contended each thread locks one of `pages` pages at random, exclusively, and gives up the CPU while it holds it
//   file      each thread locks a random page of 8192, shared or exclusive by turns, and reads or writes it; io=direct
//             goes past the page cache, where the file system can
// Beside the variants: the peers of peers.h.
#include "locks.h"

#include <sched.h>

namespace
{
using rangelock::File;
using rangelock::PAGE;
using rangelock::THREADS;

void add_disjoint(unsigned wait, size_t calls)
{
    std::string name = "rangelock/kind=disjoint/wait=" + std::to_string(wait);
    auto variants = rangelock::variants_and_peers();
    bench::add(name, bench::names_of(variants), 1, [=]() -> bench::Timer {
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            return rangelock::with_lock(variants[v], file->fd, [&]<typename Lock>(Lock &lock) {
                return rangelock::time_threads(calls, [&](size_t t, size_t) {
                    typename Lock::Hold hold{};
                    lock.take(hold, t * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
                    if (wait != 0)
                        usleep(wait);
                    lock.release(hold);
                });
            });
        };
    });
}

// The others run into what a thread holds.
void add_contended(uint64_t pages, size_t calls)
{
    std::string name = "rangelock/kind=contended/pages=" + std::to_string(pages);
    auto variants = rangelock::variants_and_peers();
    bench::add(name, bench::names_of(variants), 1, [=]() -> bench::Timer {
        auto file = std::make_shared<File>();
        return [=](size_t v, size_t) {
            std::vector<std::mt19937_64> random(THREADS);
            for (size_t t = 0; t < THREADS; t++)
                random[t].seed(t);
            return rangelock::with_lock(variants[v], file->fd, [&]<typename Lock>(Lock &lock) {
                return rangelock::time_threads(calls, [&](size_t t, size_t) {
                    typename Lock::Hold hold{};
                    lock.take(hold, random[t]() % pages * PAGE, PAGE, PGQ_RANGELOCK_EXCLUSIVE);
                    sched_yield();
                    lock.release(hold);
                });
            });
        };
    });
}

constexpr uint64_t PAGES = 8192;

void fill(const File &file)
{
    auto page = bench::aligned<char>(PAGE);
    std::fill_n(page.get(), PAGE, 'x');
    for (uint64_t i = 0; i < PAGES; i++)
        if (pwrite(file.fd, page.get(), PAGE, static_cast<off_t>(i * PAGE)) != static_cast<ssize_t>(PAGE))
            bench::fail("the file could not be written");
}

// A thread's buffer and its random places.
struct User {
    bench::Memory<char> page = bench::aligned<char>(PAGE);
    std::mt19937_64 random;

    template <typename Lock> void use(Lock &lock, int fd, bool writes)
    {
        off_t at = static_cast<off_t>(random() % PAGES * PAGE);
        typename Lock::Hold hold{};
        lock.take(hold, static_cast<uint64_t>(at), PAGE,
                  writes ? PGQ_RANGELOCK_EXCLUSIVE : PGQ_RANGELOCK_SHARED);
        ssize_t done = writes ? pwrite(fd, page.get(), PAGE, at) : pread(fd, page.get(), PAGE, at);
        lock.release(hold);
        if (done != static_cast<ssize_t>(PAGE))
            bench::fail("a page could not be read or written");
    }
};

void add_file(const std::string &io, int flags, size_t calls)
{
    auto variants = rangelock::variants_and_peers();
    bench::add("rangelock/kind=file/io=" + io, bench::names_of(variants), 1, [=]() -> bench::Timer {
        auto file = std::make_shared<File>(flags);
        fill(*file);
        return [=](size_t v, size_t) {
            std::vector<User> users(THREADS);
            for (size_t t = 0; t < THREADS; t++)
                users[t].random.seed(t);
            return rangelock::with_lock(variants[v], file->fd, [&](auto &lock) {
                return rangelock::time_threads(
                    calls, [&](size_t t, size_t i) { users[t].use(lock, file->fd, (t + i) % 2 == 0); });
            });
        };
    });
}

const bench::Registration threads{[] {
    add_disjoint(0, 2000);
    add_disjoint(100, 40);
    add_disjoint(1000, 10);
    add_contended(4, 500);
    add_contended(64, 500);
    add_file("cached", 0, 1000);
    if (File(O_DIRECT).fd >= 0)
        add_file("direct", O_DIRECT, 100);
}};
} // namespace
