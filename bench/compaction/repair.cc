// SPDX-License-Identifier: PostgreSQL
//
// How long does the whole PageRepairFragmentation of one heap page take, by each variant?
//
// A configuration is (n line pointers, lp_len, live share, order). Its pool holds 4096 distinct pages; a round takes each page
// once. With a few pages, used again and again, the branch predictor learns them, and upstream's scan looks up to three times
// faster than it is.
//   L2, L1  harness.h; a group is 64 pages
//   cold    1 GiB of pages, in sequential or in random order; `batch` is the entry that prefetches
// limit.h describes the yardsticks `limit` and `moves-only`; on cold pages `limit` reads one word of each cache line.
// Before a shape is timed, all variants must give the same bytes, and the limit the same line pointers.
#include <cstring>
#include <map>

#include "harness.h"
#include "limit.h"
#include "pages.h"

namespace
{
constexpr size_t POOL_PAGES = bench::POOL_MAX;
constexpr size_t WORK_PAGES = bench::WORK_BYTES / PAGE_SIZE;
constexpr size_t COLD_PAGES = (size_t{1} << 30) / PAGE_SIZE;

using Kernels = std::vector<bench::Named<pgq_compaction_fn>>;
using Page = bench::Memory<uint8_t>;

struct Pages {
    Page bytes = bench::aligned<uint8_t>(POOL_PAGES * PAGE_SIZE);
    std::vector<uint16_t> to_move = std::vector<uint16_t>(POOL_PAGES);

    const uint8_t *at(size_t i) const
    {
        return bytes.get() + i * PAGE_SIZE;
    }
};

void repair(pgq_compaction_fn fn, void *page)
{
    bench::require_ok(fn(page, true));
}

// Each of the limit's scans must find what upstream's first variant leaves as pd_upper, and the same line pointers.
void require_honest_limit(const Pages &pages, size_t n)
{
    Page plain = bench::aligned<uint8_t>(PAGE_SIZE), work = bench::aligned<uint8_t>(PAGE_SIZE);
    for (size_t p = 0; p < WORK_PAGES; p++) {
        std::memcpy(plain.get(), pages.at(p), PAGE_SIZE);
        std::memcpy(work.get(), pages.at(p), PAGE_SIZE);
        uint32_t upper = limit::new_offsets(plain.get(), n);
        repair(pgq_compaction_variants[0].fn, work.get());
        bool same = upper == limit::pd_upper(work.get());
        for (limit::Scan scan : limit::scans()) {
            std::memcpy(work.get(), pages.at(p), PAGE_SIZE);
            same = same && scan(work.get(), n) == upper;
            same = same && std::memcmp(work.get(), plain.get(), PAGE_SIZE) == 0;
        }
        if (!same)
            bench::fail("compaction: the limit's scan is wrong");
    }
}

// No wrong kernel is timed: all variants of one order must give the same bytes.
void require_equal_results(const Pages &pages)
{
    Page got = bench::aligned<uint8_t>(PAGE_SIZE);
    std::map<pgq_compaction_order, Page> expected;
    for (size_t p = 0; p < WORK_PAGES; p++) {
        expected.clear();
        for (size_t v = 0; v < pgq_compaction_variant_count; v++) {
            const auto &variant = pgq_compaction_variants[v];
            if (!variant.supported())
                continue;
            std::memcpy(got.get(), pages.at(p), PAGE_SIZE);
            repair(variant.fn, got.get());
            Page &first = expected[variant.order];
            if (first && std::memcmp(got.get(), first.get(), PAGE_SIZE) != 0)
                bench::fail(std::string("compaction: variant ") + variant.name + " gives other bytes");
            if (!first) {
                first = bench::aligned<uint8_t>(PAGE_SIZE);
                std::memcpy(first.get(), got.get(), PAGE_SIZE);
            }
        }
    }
}

std::string name_of(const page_shape &shape)
{
    std::string len = std::to_string(shape.len_min);
    if (shape.len_max != shape.len_min)
        len += ".." + std::to_string(shape.len_max);
    return "/n=" + std::to_string(shape.n) + "/len=" + len + "/live=" + std::to_string(shape.live) +
           "/order=" + (shape.random ? "random" : "presorted");
}

std::shared_ptr<const Pages> pages_of(const page_shape &shape)
{
    return bench::kept<Pages>(name_of(shape), [&] {
        Pages pages;
        uint64_t state = PAGES_FIRST_STATE;
        if (!make_pages(pages.bytes.get(), POOL_PAGES, &shape, &state))
            bench::fail("compaction: a shape that fits no page");
        for (size_t i = 0; i < POOL_PAGES; i++)
            pages.to_move[i] = limit::bytes_to_move(pages.at(i), static_cast<size_t>(shape.n));
        require_equal_results(pages);
        require_honest_limit(pages, static_cast<size_t>(shape.n));
        return pages;
    });
}

Kernels kernels()
{
    return bench::supported<pgq_compaction_fn>(pgq_compaction_variants, pgq_compaction_variant_count, "pg14");
}

// ---- L2 and L1 ----

class WorkArea
{
  public:
    explicit WorkArea(std::shared_ptr<const Pages> pages) : pages(std::move(pages)) {}

    // Seconds of call(page, bytes to move) on the pages of group g. An untimed call before them fetches the code.
    template <typename Call> double time(size_t g, bool alone, Call call)
    {
        size_t first = g * WORK_PAGES, other = (first + WORK_PAGES) % POOL_PAGES;
        uint8_t *work = area.get();
        auto copy = [&](size_t from, size_t count) { std::memcpy(work, pages->at(from), count * PAGE_SIZE); };
        copy(other, 1);
        call(work, pages->to_move[other]);
        if (alone)
            return bench::time_each(
                WORK_PAGES, [&](size_t i) { copy(first + i, 1); },
                [&](size_t i) { call(work, pages->to_move[first + i]); });
        copy(first, WORK_PAGES);
        return bench::time_group(WORK_PAGES,
                                 [&](size_t i) { call(work + i * PAGE_SIZE, pages->to_move[first + i]); });
    }

  private:
    std::shared_ptr<const Pages> pages;
    Page area = bench::aligned<uint8_t>(WORK_PAGES * PAGE_SIZE);
};

void add_cached(const std::string &regime, const page_shape &shape)
{
    Kernels variants = kernels();
    variants.push_back({"limit", nullptr});
    variants.push_back({"moves-only", nullptr});
    auto timer = [=]() -> bench::Timer {
        auto work = std::make_shared<WorkArea>(pages_of(shape));
        return [=](size_t v, size_t g) {
            bool alone = regime == "L1";
            if (pgq_compaction_fn fn = variants[v].fn)
                return work->time(g, alone, [=](uint8_t *page, size_t) { repair(fn, page); });
            if (variants[v].name == "limit")
                return work->time(
                    g, alone, [&](uint8_t *page, size_t bytes) { limit::scan_and_move(page, bytes, shape); });
            return work->time(g, alone,
                              [&](uint8_t *page, size_t bytes) { limit::move_only(page, bytes, shape); });
        };
    };
    bench::add("compaction/regime=" + regime + name_of(shape), bench::names_of(variants),
               POOL_PAGES / WORK_PAGES, timer);
}

// ---- cold ----

// Copies a page past the cache, so that none of it is in the cache afterwards.
void store_past_cache(uint8_t *to, const uint8_t *from)
{
    for (size_t at = 0; at < PAGE_SIZE; at += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at),
                         _mm_load_si128(reinterpret_cast<const __m128i *>(from + at)));
}

struct Gigabyte {
    Page bytes = bench::aligned<uint8_t>(COLD_PAGES * PAGE_SIZE);
    std::vector<void *> order = std::vector<void *>(COLD_PAGES);
    std::vector<pgq_status> status = std::vector<pgq_status>(COLD_PAGES);

    void refill(const Pages &from, bool random_order)
    {
        for (size_t i = 0; i < COLD_PAGES; i++) {
            uint8_t *page = bytes.get() + i * PAGE_SIZE;
            order[i] = page;
            store_past_cache(page, from.at(i % POOL_PAGES));
        }
        _mm_sfence();
        if (random_order)
            std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
    }
};

void read_page(const void *page)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < PAGE_SIZE; at += 64) {
        uint64_t word;
        std::memcpy(&word, static_cast<const uint8_t *>(page) + at, 8);
        sum += word;
    }
    benchmark::DoNotOptimize(sum);
}

double time_batch(Gigabyte &gigabyte)
{
    double seconds = bench::time_group(1, [&](size_t) {
        if (pgq_compaction_repair_fragmentation_batch(gigabyte.order.data(), COLD_PAGES, true,
                                                      gigabyte.status.data()))
            bench::fail("compaction: the batch entry refused a sound page");
    });
    return seconds / COLD_PAGES;
}

void add_cold(const page_shape &shape, bool random_order)
{
    Kernels variants = kernels();
    variants.push_back({"batch", nullptr});
    variants.push_back({"limit", nullptr});
    auto timer = [=]() -> bench::Timer {
        auto pages = pages_of(shape);
        return [=](size_t v, size_t) {
            static Gigabyte gigabyte;
            gigabyte.refill(*pages, random_order);
            if (pgq_compaction_fn fn = variants[v].fn)
                return bench::time_group(COLD_PAGES, [=](size_t i) { repair(fn, gigabyte.order[i]); });
            if (variants[v].name == "batch")
                return time_batch(gigabyte);
            return bench::time_group(COLD_PAGES, [](size_t i) { read_page(gigabyte.order[i]); });
        };
    };
    bench::add(std::string("compaction/regime=") + (random_order ? "cold-random" : "cold-sequential") +
                   name_of(shape),
               bench::names_of(variants), 1, timer);
}

// Each (n, lp_len) fills a page or is as small as possible; the two-INT table with fillfactor 85 is (226, 32).
const bench::Registration repairs{[] {
    static constexpr int sizes[][3] = {{10, 24, 24},  {10, 600, 600}, {50, 24, 24},  {50, 152, 152},
                                       {95, 76, 76},  {100, 32, 32},  {185, 24, 24}, {185, 40, 40},
                                       {226, 32, 32}, {291, 24, 24},  {36, 32, 400}};
    for (auto &[n, len_min, len_max] : sizes)
        for (int live : {50, 85, 97})
            for (bool random : {false, true}) {
                page_shape shape = {n, len_min, len_max, live, random};
                add_cached("L2", shape);
                add_cached("L1", shape);
                add_cold(shape, false);
                add_cold(shape, true);
            }
}};
} // namespace
