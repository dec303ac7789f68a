// SPDX-License-Identifier: PostgreSQL
//
// How far do threads scale that wait for a device? Each thread reads by turns a page that is in memory and one that only the store
// has. The store is a simulated device: a read takes SERVICE, and `lanes` of them are served at once. The time is the one from start
// to end, divided by all reads. One CPU will do: who waits needs none.
//   device    each thread reads the same pages from the device alone, without a cache; a hit copies its page
//   one-lock  the cache below one lock, as a cache is that holds its lock while it reads a file
// A hit that waited for another thread's read would take as long as one, as under one-lock.
#include <barrier>
#include <mutex>

#include "waiting_device.h"

namespace
{
using namespace tiercache;

constexpr std::chrono::microseconds SERVICE(300);
constexpr uint64_t HOT = 64;
constexpr uint32_t FRAMES = 512, SLOTS = 64;

// A device, and a cache over it that has the pages 0 to HOT - 1 in memory.
struct Side {
    Waiting device;
    Cache cache;
    std::mutex lock;
    std::vector<uint8_t> hot = std::vector<uint8_t>(HOT * PAGE);
    std::atomic<uint64_t> cold{0};

    explicit Side(unsigned lanes) : device(lanes, SLOTS, {SERVICE, {}, false})
    {
        cache = open(device, {STORE_PAGES, FRAMES, SLOTS, 1, "tinylfu", 0});
        std::vector<uint8_t> page(PAGE);
        for (int i = 0; i < 4; i++)
            for (uint64_t p = 0; p < HOT; p++)
                bench::require_ok(pgq_tiercache_read(cache.get(), p, page.data()));
        device.takes_time = true;
    }
    // Pages that no two reads have, and that do not follow each other.
    uint64_t cold_page()
    {
        return HOT + 16 * ++cold;
    }
    void read_cached(uint64_t page, uint8_t *to)
    {
        bench::require_ok(pgq_tiercache_read(cache.get(), page, to));
        if (to[PAGE - 1] != static_cast<uint8_t>(page & 0xff))
            bench::fail("a read gives another page");
    }
    void read_bare(uint64_t page, uint8_t *to)
    {
        if (page < HOT)
            std::memcpy(to, hot.data() + PAGE * page, PAGE);
        else
            device.read_pages(page, to, 1);
    }
    void read(const std::string &way, uint64_t page, uint8_t *to)
    {
        if (way == "one-lock") {
            std::scoped_lock held(lock);
            read_cached(page, to);
        } else if (way == "tinylfu") {
            read_cached(page, to);
        } else {
            read_bare(page, to);
        }
        benchmark::DoNotOptimize(to);
        benchmark::ClobberMemory();
    }
};

// Seconds of a read: all threads make `calls` each.
double time_mixed(Side &side, const std::string &way, size_t threads, size_t calls)
{
    Clock::time_point start;
    std::barrier together(static_cast<ptrdiff_t>(threads), [&]() noexcept { start = Clock::now(); });
    std::vector<std::thread> running;
    uint64_t before = pgq_tiercache_count(side.cache.get()).store_reads;
    for (size_t t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            std::vector<uint8_t> page(PAGE);
            together.arrive_and_wait();
            for (size_t i = 0; i < calls; i++)
                side.read(way, i % 2 == 0 ? (t * 7 + i) % HOT : side.cold_page(), page.data());
        });
    for (std::thread &thread : running)
        thread.join();
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    uint64_t reads = pgq_tiercache_count(side.cache.get()).store_reads - before;
    if ((way == "tinylfu" || way == "one-lock") && reads != threads * calls / 2)
        bench::fail("a hit was a miss, or a miss a hit");
    return seconds / static_cast<double>(threads * calls);
}

void add_mixed(size_t threads, unsigned lanes)
{
    std::string name =
        "tiercache/kind=waiting/lanes=" + std::to_string(lanes) + "/threads=" + std::to_string(threads);
    const std::vector<std::string> ways = {"device", "device-again", "one-lock", "tinylfu"};
    bench::add(name, ways, 1, [=]() -> bench::Timer {
        auto side = std::make_shared<Side>(lanes);
        return [=](size_t v, size_t) { return time_mixed(*side, ways[v], threads, 40); };
    });
}

const bench::Registration waiting{[] {
    for (size_t threads : {1, 2, 8, 32})
        add_mixed(threads, 8);
    add_mixed(32, 32);
}};
} // namespace
