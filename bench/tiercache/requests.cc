// SPDX-License-Identifier: PostgreSQL
//
// How many requests does a flush make to a store that charges by the request? Counted, not timed: a "nanosecond" is a
// request. `page` writes each dirty page alone, and syncs once, as a cache of pages does. n pages of a file are written:
// one after the other, or 70 % so and 30 % anywhere. `file` is the file's size in pages. Before, the file was read once
// (neighbours=cached: the SSD has them) or not (neighbours=cold).
#include <set>

#include "memory_device.h"

namespace
{
using namespace tiercache;

constexpr uint32_t FRAMES = 2048;

// A configuration; count() gives the figure of each variant, the same in each round: a process counts them in its first one.
// The harness calls them nanoseconds.
void add_counted(const std::string &name, const std::vector<std::string> &variants,
                 const std::function<std::vector<double>()> &count)
{
    auto counted = std::make_shared<std::vector<double>>();
    bench::add(name, variants, 1, [=]() -> bench::Timer {
        if (counted->empty())
            *counted = count();
        return [=](size_t v, size_t) { return (*counted)[v] * 1e-9; };
    });
}

// The pages that are written, without repetition.
std::set<uint64_t> written_pages(uint64_t file, uint64_t n, int sequential)
{
    std::mt19937_64 random(17);
    std::set<uint64_t> pages;
    uint64_t in_order = n * static_cast<uint64_t>(sequential) / 100, first = file / 3;
    for (uint64_t i = 0; i < in_order; i++)
        pages.insert((first + i) % file);
    for (uint64_t i = in_order; i < n; i++)
        pages.insert(random() % file);
    return pages;
}

uint64_t requests_of_flush(uint64_t file, const std::set<uint64_t> &pages, bool cached)
{
    Device device(file, file);
    Cache cache = open(device, {file, FRAMES, static_cast<uint32_t>(file), 64, "tinylfu", 0, false});
    std::vector<uint8_t> contents(PAGE);
    if (cached)
        for (uint64_t page = 0; page < file; page++)
            bench::require_ok(pgq_tiercache_read(cache.get(), page, contents.data()));
    for (uint64_t page : pages) {
        std::memset(contents.data(), static_cast<int>(page), PAGE);
        bench::require_ok(pgq_tiercache_write(cache.get(), page, contents.data()));
    }
    uint64_t before = device.requests;
    bench::require_ok(pgq_tiercache_fsync(cache.get()));
    for (uint64_t page : pages)
        if (device.bytes[PGQ_TIERCACHE_FILE_STORE][page * PAGE] != static_cast<uint8_t>(page))
            bench::fail("the flush has not written a page");
    return device.requests - before;
}

void add_requests(uint64_t file, uint64_t n, int sequential, bool cached)
{
    std::string name = "tiercache/kind=requests/file=" + std::to_string(file) + "/n=" + std::to_string(n) +
                       "/sequential=" + std::to_string(sequential) +
                       "/neighbours=" + (cached ? "cached" : "cold");
    add_counted(name, {"page", "page-again", "block"}, [=]() -> std::vector<double> {
        auto pages = written_pages(file, n, sequential);
        double by_page = static_cast<double>(pages.size() + 1);
        return {by_page, by_page, static_cast<double>(requests_of_flush(file, pages, cached))};
    });
}

const bench::Registration requests{[] {
    for (bool cached : {false, true}) {
        add_requests(8192, 4096, 100, cached);
        add_requests(8192, 4096, 70, cached);
        add_requests(32768, 4096, 70, cached);
    }
}};
} // namespace
