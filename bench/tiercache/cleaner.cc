// SPDX-License-Identifier: PostgreSQL
//
// What does a thread that cleans in the background do for those in the foreground? Threads use pages that are not in memory, so each
// page that comes makes another one leave, and think in between. The device is simulated (waiting_device.h): a request to the store
// takes STORE, one to the SSD takes SSD, and each serves LANES at once.
//   what=reads    each thread reads a page of the store, and reads it again, which is a hit: so all that leaves memory enters the SSD
//   what=writes   each thread writes blocks of 16 pages, one page after the other, which are dirty: the SSD is full of dirty pages, and a
//                 page that needs room waits for a write-back of BATCH blocks now and then
//   alone    a page that needs room makes it itself: it waits for the SSD's write, or for a write-back
//   cleaned  another thread keeps KEPT frames free; where there are none left, as alone. by-two: two threads do
// of=mean is the time of a call by all threads' calls, without the thinking; p50 and p99 are those of one call.
#include <barrier>
#include <numeric>

#include "waiting_device.h"

namespace
{
using namespace tiercache;

constexpr std::chrono::microseconds STORE(300), SSD(100), THINK(300), NAP(100);
constexpr unsigned LANES = 8;
constexpr uint32_t FRAMES = 1024, SLOTS = 2048, BATCH = 16, KEPT = 128, STEPS = 64;

// A cache in its steady state: memory and SSD are full.
struct Side {
    Waiting device{LANES, SLOTS, {STORE, SSD, true}};
    Cache cache = open(device, {STORE_PAGES, FRAMES, SLOTS, BATCH, "tinylfu", 0});
    bool reads;
    size_t cleaners;
    std::atomic<uint64_t> next{0};
    std::atomic<bool> ends{false};

    Side(bool reads, size_t cleaners) : reads(reads), cleaners(cleaners)
    {
        std::vector<uint8_t> page(PAGE);
        for (uint64_t i = 0; i < 12 * (FRAMES + SLOTS) / PGQ_TIERCACHE_BLOCK_PAGES; i++)
            use_block(page.data(), [](auto call) { call(); });
        device.takes_time = true;
    }
    // Sixteen calls on pages that nobody has used, by timed().
    template <typename Timed> void use_block(uint8_t *page, Timed timed)
    {
        uint64_t block = 3 * next++ * PGQ_TIERCACHE_BLOCK_PAGES;
        for (uint64_t i = 0; i < PGQ_TIERCACHE_BLOCK_PAGES; i++) {
            uint64_t number = reads ? block + i / 2 * 2 : block + i;
            std::memset(page, static_cast<int>(number & 0xff), PAGE);
            timed([&] {
                bench::require_ok(reads ? pgq_tiercache_read(cache.get(), number, page)
                                        : pgq_tiercache_write(cache.get(), number, page));
            });
        }
    }
    void clean()
    {
        while (!ends) {
            uint32_t pages_left = 0;
            bench::require_ok(pgq_tiercache_clean(cache.get(), KEPT, STEPS, &pages_left));
            if (pages_left == 0)
                std::this_thread::sleep_for(NAP);
        }
    }
    // Seconds of each call, in ascending order.
    std::vector<double> run(size_t threads, size_t blocks)
    {
        std::vector<std::vector<double>> took(threads);
        std::vector<std::thread> running, cleaning;
        ends = false;
        for (size_t t = 0; t < cleaners; t++)
            cleaning.emplace_back([this] { clean(); });
        for (size_t t = 0; t < threads; t++)
            running.emplace_back([&, t] {
                std::vector<uint8_t> page(PAGE);
                for (size_t i = 0; i < blocks; i++)
                    use_block(page.data(), [&](auto call) {
                        Clock::time_point start = Clock::now();
                        call();
                        took[t].push_back(std::chrono::duration<double>(Clock::now() - start).count());
                        std::this_thread::sleep_for(THINK);
                    });
            });
        for (std::thread &thread : running)
            thread.join();
        ends = true;
        for (std::thread &thread : cleaning)
            thread.join();
        std::vector<double> all;
        for (const std::vector<double> &one : took)
            all.insert(all.end(), one.begin(), one.end());
        std::sort(all.begin(), all.end());
        return all;
    }
};

double of_calls(const std::vector<double> &sorted, const std::string &of)
{
    if (of == "mean")
        return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
    return sorted[sorted.size() * (of == "p50" ? 50 : 99) / 100];
}

void add_cleaner(const std::string &what, size_t threads, const std::string &of)
{
    std::string name =
        "tiercache/kind=cleaner/what=" + what + "/threads=" + std::to_string(threads) + "/of=" + of;
    const std::vector<std::string> ways = {"alone", "alone-again", "cleaned", "by-two"};
    auto sides = std::make_shared<std::vector<std::shared_ptr<Side>>>(ways.size());
    bench::add(name, ways, 1, [=]() -> bench::Timer {
        return [=](size_t v, size_t) {
            std::shared_ptr<Side> &side = (*sides)[v];
            if (!side)
                side = std::make_shared<Side>(what == "reads", v < 2 ? 0 : v - 1);
            return of_calls(side->run(threads, 64 / threads), of);
        };
    });
}

const bench::Registration cleaner{[] {
    for (const char *what : {"reads", "writes"})
        for (size_t threads : {1, 8})
            for (const char *of : {"mean", "p50", "p99"})
                add_cleaner(what, threads, of);
}};
} // namespace
