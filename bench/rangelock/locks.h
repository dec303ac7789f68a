// SPDX-License-Identifier: PostgreSQL
//
// What the benchmarks of range locks share: a file with its locks, and threads that start together.
#pragma once

#include "harness.h"
#include "peers.h"

#include <barrier>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace rangelock
{
constexpr uint64_t PAGE = 8192;
constexpr size_t THREADS = 16;
using Variant = bench::Named<pgq_rangelock_fn>;

inline std::vector<Variant> variants()
{
    return bench::supported<pgq_rangelock_fn>(pgq_rangelock_variants, pgq_rangelock_variant_count, "rwlock");
}

// The peers that are no variants (peers.h) stand beside them, by their names.
inline std::vector<Variant> variants_and_peers()
{
    std::vector<Variant> all = variants();
    all.push_back({"mutexes", nullptr});
    all.push_back({"list", nullptr});
    return all;
}

// A file that is gone when the program ends.
class File
{
  public:
    explicit File(int flags = 0) : path("build/bench/rangelock/file." + std::to_string(getpid()))
    {
        fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
    }
    File(const File &) = delete;
    ~File()
    {
        close(fd);
        unlink(path.c_str());
    }

    int fd;

  private:
    std::string path;
};

class Lock
{
  public:
    using Hold = pgq_rangelock_hold;

    Lock(const Variant &variant, int fd)
    {
        bench::require_ok(variant.fn(fd, &lock));
    }
    Lock(const Lock &) = delete;
    ~Lock()
    {
        bench::require_ok(pgq_rangelock_destroy(lock));
    }

    void take(pgq_rangelock_hold &hold, uint64_t offset, uint64_t length, pgq_rangelock_mode mode)
    {
        bench::require_ok(pgq_rangelock_lock(lock, &hold, offset, length, mode));
    }
    void release(pgq_rangelock_hold &hold)
    {
        bench::require_ok(pgq_rangelock_unlock(lock, &hold));
    }

  private:
    pgq_rangelock *lock;
};

// What use(lock) gives, of a new lock of a variant or a peer.
template <typename Use> double with_lock(const Variant &variant, int fd, Use use)
{
    if (variant.name == "mutexes") {
        PageMutexes lock;
        return use(lock);
    }
    if (variant.name == "list") {
        RangeList lock;
        return use(lock);
    }
    Lock lock(variant, fd);
    return use(lock);
}

// glibc leaves out atomic instructions as long as a process has one thread: from now on it has two.
inline void have_threads()
{
    static bool started = [] {
        std::thread([] { pause(); }).detach();
        return true;
    }();
    benchmark::DoNotOptimize(started);
}

// Seconds from when all threads start call(thread, i) to when all have done `calls` of them, divided by all calls.
template <typename Call> double time_threads(size_t calls, Call call)
{
    using Clock = std::chrono::steady_clock;
    Clock::time_point start;
    std::barrier together(static_cast<ptrdiff_t>(THREADS), [&]() noexcept { start = Clock::now(); });
    std::vector<std::thread> threads;
    for (size_t t = 0; t < THREADS; t++)
        threads.emplace_back([&, t] {
            together.arrive_and_wait();
            for (size_t i = 0; i < calls; i++)
                call(t, i);
        });
    for (std::thread &thread : threads)
        thread.join();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls * THREADS);
}
} // namespace rangelock
