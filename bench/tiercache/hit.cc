// SPDX-License-Identifier: PostgreSQL
//
// What does it cost to read a page that is in memory? `limit` looks the page up in a hash table and copies its 8 KiB.
// The pages of a group are read in random order; with n pages they fit into a cache of the CPU or not.
#include <numeric>
#include <unordered_map>

#include "memory_device.h"

namespace
{
using namespace tiercache;

struct Bare {
    std::unordered_map<uint64_t, uint32_t> where;
    std::vector<uint8_t> frames;

    explicit Bare(uint64_t n) : frames(n * PAGE, 1)
    {
        for (uint64_t page = 0; page < n; page++)
            where[page] = static_cast<uint32_t>(page);
    }
    void read(uint64_t page, void *contents) const
    {
        std::memcpy(contents, frames.data() + PAGE * where.find(page)->second, PAGE);
    }
};

struct Readers {
    Device device;
    Cache tinylfu, s3fifo, lru;
    Bare bare;
    std::vector<uint64_t> order;

    explicit Readers(uint32_t n)
        : device(n, 0), tinylfu(filled(device, n, "tinylfu")), s3fifo(filled(device, n, "s3fifo")),
          lru(filled(device, n, "lru")), bare(n), order(n)
    {
        std::iota(order.begin(), order.end(), uint64_t{0});
        std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    }
};

void add_hits(uint32_t n)
{
    std::string name = "tiercache/kind=hit/n=" + std::to_string(n);
    constexpr size_t GROUP = 64;
    bench::add(name, {"limit", "limit-again", "lru", "s3fifo", "tinylfu"}, n / GROUP, [=]() -> bench::Timer {
        auto readers = std::make_shared<Readers>(n);
        auto contents = std::make_shared<std::vector<uint8_t>>(PAGE);
        return [=](size_t v, size_t g) {
            const Cache &one = v == 2 ? readers->lru : v == 3 ? readers->s3fifo : readers->tinylfu;
            pgq_tiercache *cache = one.get();
            return bench::time_group(GROUP, [&](size_t i) {
                uint64_t page = readers->order[g * GROUP + i];
                if (v < 2)
                    readers->bare.read(page, contents->data());
                else
                    bench::require_ok(pgq_tiercache_read(cache, page, contents->data()));
                benchmark::DoNotOptimize(contents->data());
                benchmark::ClobberMemory();
            });
        };
    });
}

const bench::Registration hits{[] {
    for (uint32_t n : {128, 1024, 16384})
        add_hits(n);
}};
} // namespace
