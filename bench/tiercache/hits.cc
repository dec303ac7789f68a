// SPDX-License-Identifier: PostgreSQL
//
// How far do threads scale that find their pages in memory? The time is the one from start to end, divided by all reads: half of one
// thread's is the best that two can reach. Other than what else the bench does, these threads run on all CPUs, each on
// one: left to itself the system leaves two on the CPU of the first one for as long as a measurement takes.
//   limit       a hash table that nobody changes, and a copy of the page: no lock, no policy
//   one-lock    the same below one lock, held for the copy as well
//   partitions  as PostgreSQL's buffers: 128 partitions of the hash table, each with its lock, taken shared; the buffer is pinned and its usage
//               count raised by one atomic; its content lock is taken shared for the copy (BufferAlloc, PinBuffer, LockBuffer:
//               src/backend/storage/buffer/bufmgr.c). Nobody takes one of these locks exclusively here.
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <sched.h>
#include <thread>
#include <unordered_map>

#include "memory_device.h"

namespace
{
using namespace tiercache;
using Clock = std::chrono::steady_clock;

constexpr size_t PARTITIONS = 128;

// Its shared mode: LWLockAttemptLock adds one if nobody has it exclusively. A line of the CPU's cache each, as there.
struct alignas(64) SharedLock {
    std::atomic<uint32_t> state{0};

    void take()
    {
        uint32_t seen = state.load(std::memory_order_relaxed);
        while (!state.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire))
            ;
    }
    void release()
    {
        state.fetch_sub(1, std::memory_order_release);
    }
};

struct alignas(64) Buffer {
    std::atomic<uint32_t> pins{0}; // and above them the usage count, five at most
    SharedLock content;

    void pin()
    {
        constexpr uint32_t ONE_USE = 1 << 18, MOST = 5 * ONE_USE;
        uint32_t seen = pins.load(std::memory_order_relaxed), wanted;
        do
            wanted = seen + 1 + (seen < MOST ? ONE_USE : 0);
        while (!pins.compare_exchange_weak(seen, wanted, std::memory_order_acquire));
    }
    void unpin()
    {
        pins.fetch_sub(1, std::memory_order_release);
    }
};

struct Partition {
    SharedLock lock;
    std::unordered_map<uint64_t, uint32_t> where;
};

struct Readers {
    Device device;
    Cache tinylfu, lru;
    uint64_t n;
    std::vector<uint8_t> frames;
    std::unordered_map<uint64_t, uint32_t> where;
    std::mutex lock;
    std::vector<Partition> partitions{PARTITIONS};
    std::vector<Buffer> buffers;

    explicit Readers(uint32_t pages)
        : device(pages, 0), tinylfu(filled(device, pages, "tinylfu")), lru(filled(device, pages, "lru")),
          n(pages), frames(pages * PAGE, 1), buffers(pages)
    {
        for (uint32_t page = 0; page < pages; page++)
            where[page] = partitions[page % PARTITIONS].where[page] = page;
    }
    void copy(uint32_t frame, uint8_t *to) const
    {
        std::memcpy(to, frames.data() + PAGE * frame, PAGE);
    }
    void read(const std::string &way, uint64_t page, uint8_t *to)
    {
        if (way == "tinylfu" || way == "lru") {
            bench::require_ok(pgq_tiercache_read(way == "lru" ? lru.get() : tinylfu.get(), page, to));
        } else if (way == "partitions") {
            Partition &part = partitions[page % PARTITIONS];
            part.lock.take();
            uint32_t frame = part.where.find(page)->second;
            buffers[frame].pin();
            part.lock.release();
            buffers[frame].content.take();
            copy(frame, to);
            buffers[frame].content.release();
            buffers[frame].unpin();
        } else if (way == "one-lock") {
            std::scoped_lock held(lock);
            copy(where.find(page)->second, to);
        } else {
            copy(where.find(page)->second, to);
        }
        benchmark::DoNotOptimize(to);
        benchmark::ClobberMemory();
    }
};

// The bench is pinned to one CPU, and so are its threads at first.
std::vector<int> all_cpus()
{
    cpu_set_t before, all;
    std::memset(&all, 0xff, sizeof all);
    if (sched_getaffinity(0, sizeof before, &before) != 0 || sched_setaffinity(0, sizeof all, &all) != 0 ||
        sched_getaffinity(0, sizeof all, &all) != 0 || sched_setaffinity(0, sizeof before, &before) != 0)
        bench::fail("sched_setaffinity failed");
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all))
            cpus.push_back(cpu);
    return cpus;
}

void run_on(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench::fail("sched_setaffinity failed");
}

// Seconds of a read: all threads make `calls` each, of pages at random.
double time_hits(Readers &readers, const std::string &way, size_t threads, size_t calls)
{
    static const std::vector<int> cpus = all_cpus();
    Clock::time_point start;
    std::barrier together(static_cast<ptrdiff_t>(threads), [&]() noexcept { start = Clock::now(); });
    std::vector<std::thread> running;
    for (size_t t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            run_on(cpus[t % cpus.size()]);
            std::vector<uint8_t> page(PAGE);
            std::minstd_rand random(static_cast<uint32_t>(t + 1));
            together.arrive_and_wait();
            for (size_t i = 0; i < calls; i++)
                readers.read(way, random() % readers.n, page.data());
        });
    for (std::thread &thread : running)
        thread.join();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(threads * calls);
}

void add_hits(uint32_t n, size_t threads)
{
    std::string name = "tiercache/kind=hits/n=" + std::to_string(n) + "/threads=" + std::to_string(threads);
    const std::vector<std::string> ways = {"limit",      "limit-again", "one-lock",
                                           "partitions", "lru",         "tinylfu"};
    bench::add(name, ways, 1, [=]() -> bench::Timer {
        auto readers = std::make_shared<Readers>(n);
        // Some 30 ms, so that the start of the threads does not count.
        size_t calls = n > 10000 ? 40000 : 200000;
        return [=](size_t v, size_t) { return time_hits(*readers, ways[v], threads, calls / threads); };
    });
}

const bench::Registration hits{[] {
    for (uint32_t n : {128, 1024, 16384})
        for (size_t threads : {1, 2, 8, 32})
            add_hits(n, threads);
}};
} // namespace
