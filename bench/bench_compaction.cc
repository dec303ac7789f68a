// SPDX-License-Identifier: PostgreSQL
//
// How long does the whole PageRepairFragmentation of one heap page take, by each variant?
//
// A configuration is (n line pointers, lp_len, live share, order). Its pool holds 4096 distinct pages; a pass takes each page
// once. Reusing a few pages lets the branch predictor learn them and makes upstream's scan up to three times faster than it is.
//   L2    64 fresh pages are copied, untimed, into a 512 KiB work area; the 64 calls are timed together.
//   L1    one page is copied, untimed, and its call timed alone by the time stamp counter; the cost of reading it is subtracted.
//   cold  1 GiB of pages, in sequential or in random order, each page once a pass; `batch` entries where a variant has one.
// `limit` is a bare vector scan (line pointers read, aligned lengths added up, each new lp_off and pd_upper stored: no check, no
// list of tuples, no unused line pointers) and one memmove (presorted) or two memcpy (random) of the bytes that must move: as if
// they lay in one piece. Where there is no AVX-512 the scan is a plain loop. `moves-only` is the same with the line pointers only
// read. `pg14-again` is pg14 under another name: its ratio to pg14 is the noise floor (A/A).
//
// Dead line pointers are half UNUSED, a quarter DEAD, a quarter REDIRECT, none with storage, at random places.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>
#include <x86intrin.h>

#include "ticks.h"

extern "C" {
#include "pgquern.h"
}

namespace
{
constexpr size_t BLCKSZ = 8192;
constexpr size_t HEADER = 24;
constexpr size_t POOL_PAGES = 4096;
constexpr size_t WORK_PAGES = 64;
constexpr size_t COLD_PAGES = (size_t{1} << 30) / BLCKSZ;

struct Shape {
    int n;
    int len_min, len_max;
    int live;
    bool random;
    auto operator<=>(const Shape &) const = default;
};

struct FreeDelete {
    void operator()(void *p) const
    {
        std::free(p);
    }
};
using Bytes = std::unique_ptr<uint8_t[], FreeDelete>;

Bytes aligned_pages(size_t count)
{
    return Bytes(static_cast<uint8_t *>(std::aligned_alloc(4096, count * BLCKSZ)));
}

size_t maxalign(size_t len)
{
    return (len + 7) & ~size_t{7};
}

void put16(uint8_t *page, size_t at, size_t value)
{
    auto v = static_cast<uint16_t>(value);
    std::memcpy(page + at, &v, 2);
}

void put_line_pointer(uint8_t *page, int item, uint32_t off, uint32_t flags, uint32_t len)
{
    uint32_t word = off | flags << 15 | len << 17;
    std::memcpy(page + HEADER + 4 * static_cast<size_t>(item), &word, 4);
}

// Every tuple ever inserted still has its space; a share of them is dead.
void make_page(uint8_t *page, const Shape &shape, std::mt19937_64 &random)
{
    for (size_t at = 0; at < BLCKSZ; at += 8) {
        uint64_t word = random();
        std::memcpy(page + at, &word, 8);
    }
    std::memset(page, 0, HEADER);
    std::vector<int> place(static_cast<size_t>(shape.n)), dead(place.size());
    std::iota(place.begin(), place.end(), 0);
    std::iota(dead.begin(), dead.end(), 0);
    if (shape.random)
        std::shuffle(place.begin(), place.end(), random);
    std::shuffle(dead.begin(), dead.end(), random);

    std::uniform_int_distribution<int> length(shape.len_min, shape.len_max);
    std::vector<size_t> lengths(place.size());
    size_t total;
    do {
        total = 0;
        for (size_t &len : lengths)
            total += maxalign(len = static_cast<size_t>(length(random)));
    } while (total > BLCKSZ - HEADER - 4 * place.size());

    size_t upper = BLCKSZ;
    for (int item : place) {
        size_t len = lengths[static_cast<size_t>(item)];
        upper -= maxalign(len);
        put_line_pointer(page, item, static_cast<uint32_t>(upper), 1, static_cast<uint32_t>(len));
    }
    dead.resize(static_cast<size_t>(shape.n * (100 - shape.live) / 100));
    for (size_t i = 0; i < dead.size(); i++) {
        static constexpr uint32_t flags[] = {0, 3, 0, 2};
        put_line_pointer(page, dead[i], flags[i % 4] == 2 ? 1 : 0, flags[i % 4], 0);
    }
    put16(page, 12, HEADER + 4 * static_cast<size_t>(shape.n));
    put16(page, 14, upper);
    put16(page, 16, BLCKSZ);
    put16(page, 18, BLCKSZ | 4);
}

uint32_t line_pointer(const uint8_t *page, size_t item)
{
    uint32_t word;
    std::memcpy(&word, page + HEADER + 4 * item, 4);
    return word;
}

// Bytes of live tuples that are not yet where pg14 wants them.
uint16_t bytes_to_move(const uint8_t *page, const Shape &shape)
{
    size_t upper = BLCKSZ, moved = 0;
    bool in_place = true;
    for (size_t item = 0; item < static_cast<size_t>(shape.n); item++) {
        uint32_t word = line_pointer(page, item);
        if (word >> 17 == 0)
            continue;
        size_t len = maxalign(word >> 17);
        upper -= len;
        in_place = in_place && (word & 0x7fff) == upper;
        moved += in_place ? 0 : len;
    }
    return static_cast<uint16_t>(moved);
}

struct Pool {
    Bytes pages = aligned_pages(POOL_PAGES);
    std::vector<uint16_t> to_move = std::vector<uint16_t>(POOL_PAGES);
};

const Pool &pool(const Shape &shape)
{
    static std::map<Shape, Pool> pools;
    auto [at, fresh] = pools.try_emplace(shape);
    if (fresh) {
        std::mt19937_64 random(20260101u + static_cast<unsigned>(shape.n * 1000 + shape.len_max));
        for (size_t i = 0; i < POOL_PAGES; i++) {
            uint8_t *page = at->second.pages.get() + i * BLCKSZ;
            make_page(page, shape, random);
            at->second.to_move[i] = bytes_to_move(page, shape);
        }
    }
    return at->second;
}

uint8_t *work_area()
{
    static Bytes area = aligned_pages(WORK_PAGES);
    return area.get();
}

void repair(const pgq_compaction_variant &variant, uint8_t *page, benchmark::State &state)
{
    pgq_status status = variant.fn(page, true);
    if (status.code != PGQ_OK)
        state.SkipWithError("a kernel refused a sound page");
}

constexpr uint32_t LP_OFF_MASK = 0x7fff, LP_FLAGS = 3 << 15, LP_LEN_ONE = 1 << 17;

// Each tuple's new lp_off to its line pointer; returns the new pd_upper.
uint32_t new_offsets(uint8_t *page, size_t n)
{
    uint32_t upper = BLCKSZ;
    for (size_t item = 0; item < n; item++) {
        uint32_t word = line_pointer(page, item);
        if ((word & LP_FLAGS) == 0 || word < LP_LEN_ONE)
            continue;
        upper -= static_cast<uint32_t>(maxalign(word >> 17));
        word = (word & ~LP_OFF_MASK) | upper;
        std::memcpy(page + HEADER + 4 * item, &word, 4);
    }
    return upper;
}

__attribute__((target("avx512f,avx512bw"))) uint32_t new_offsets_avx512(uint8_t *page, size_t n)
{
    constexpr __mmask16 ALL = 0xffff; // the forms without a mask draw warnings from gcc 12's own header
    const __m512i zero = _mm512_setzero_si512(), off_mask = _mm512_set1_epi32(LP_OFF_MASK);
    __m512i upper = _mm512_set1_epi32(BLCKSZ);
    for (size_t item = 0; item < n; item += 16) {
        uint8_t *at = page + HEADER + 4 * item;
        auto there = static_cast<__mmask16>(n - item < 16 ? (1u << (n - item)) - 1 : 0xffff);
        __m512i words = _mm512_loadu_si512(at);
        __mmask16 stored = _mm512_mask_test_epi32_mask(there, words, _mm512_set1_epi32(LP_FLAGS));
        stored = _mm512_mask_cmpge_epu32_mask(stored, words, _mm512_set1_epi32(LP_LEN_ONE));
        __m512i sums =
            _mm512_maskz_add_epi32(stored, _mm512_maskz_srli_epi32(ALL, words, 17), _mm512_set1_epi32(7));
        sums = _mm512_and_si512(sums, _mm512_set1_epi32(~7));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 15));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 14));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 12));
        sums = _mm512_add_epi32(sums, _mm512_maskz_alignr_epi32(ALL, sums, zero, 8));
        __m512i offs = _mm512_sub_epi32(upper, sums);
        upper = _mm512_maskz_permutexvar_epi32(ALL, _mm512_set1_epi32(15), offs);
        _mm512_storeu_si512(at, _mm512_mask_ternarylogic_epi32(words, stored, offs, off_mask, 0xd8));
    }
    return static_cast<uint32_t>(_mm512_cvtsi512_si32(upper));
}

void move_in_one_piece(uint8_t *page, size_t upper, size_t bytes, bool random)
{
    static uint8_t scratch[BLCKSZ];
    if (random) {
        std::memcpy(scratch, page + upper, bytes);
        benchmark::ClobberMemory();
        std::memcpy(page + BLCKSZ - bytes, scratch, bytes);
    } else
        std::memmove(page + BLCKSZ - bytes, page + upper, bytes);
}

uint16_t pd_upper(const uint8_t *page)
{
    uint16_t upper;
    std::memcpy(&upper, page + 14, 2);
    return upper;
}

void scan_and_move(uint8_t *page, size_t bytes, const Shape &shape)
{
    static const bool wide = __builtin_cpu_supports("avx512bw");
    auto n = static_cast<size_t>(shape.n);
    uint16_t upper = pd_upper(page);
    put16(page, 14, wide ? new_offsets_avx512(page, n) : new_offsets(page, n));
    move_in_one_piece(page, upper, bytes, shape.random);
}

void move_only(uint8_t *page, size_t bytes, const Shape &shape)
{
    uint32_t sum = 0;
    for (size_t item = 0; item < static_cast<size_t>(shape.n); item++)
        sum += line_pointer(page, item);
    benchmark::DoNotOptimize(sum);
    move_in_one_piece(page, pd_upper(page), bytes, shape.random);
}

using Clock = std::chrono::steady_clock;

template <typename Call> void timed_in_l2(benchmark::State &state, const Shape &shape, Call call)
{
    const Pool &from = pool(shape);
    uint8_t *work = work_area();
    size_t next = 0;
    for (auto _ : state) {
        std::memcpy(work, from.pages.get() + next * BLCKSZ, WORK_PAGES * BLCKSZ);
        benchmark::ClobberMemory();
        auto start = Clock::now();
        for (size_t i = 0; i < WORK_PAGES; i++)
            call(work + i * BLCKSZ, from.to_move[next + i]);
        benchmark::ClobberMemory();
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count() / WORK_PAGES);
        next = (next + WORK_PAGES) % POOL_PAGES;
    }
}

template <typename Call> void timed_in_l1(benchmark::State &state, const Shape &shape, Call call)
{
    const Pool &from = pool(shape);
    uint8_t *work = work_area();
    const double scale = seconds_per_tick();
    size_t next = 0;
    for (auto _ : state) {
        uint64_t spent = 0, clock = 0;
        for (size_t i = 0; i < WORK_PAGES; i++) {
            std::memcpy(work, from.pages.get() + (next + i) * BLCKSZ, BLCKSZ);
            benchmark::ClobberMemory();
            uint64_t start = ticks();
            uint64_t empty = ticks();
            call(work, from.to_move[next + i]);
            benchmark::ClobberMemory();
            spent += ticks() - empty;
            clock += empty - start;
        }
        state.SetIterationTime(static_cast<double>(spent - std::min(spent, clock)) * scale / WORK_PAGES);
        next = (next + WORK_PAGES) % POOL_PAGES;
    }
}

// A page, past the cache, so that none of it is in there afterwards.
void store_past_cache(uint8_t *to, const uint8_t *from)
{
    for (size_t at = 0; at < BLCKSZ; at += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at),
                         _mm_load_si128(reinterpret_cast<const __m128i *>(from + at)));
}

// The whole gigabyte is written anew before each pass.
struct Gigabyte {
    Bytes pages = aligned_pages(COLD_PAGES);
    std::vector<void *> order = std::vector<void *>(COLD_PAGES);
    std::vector<pgq_status> status = std::vector<pgq_status>(COLD_PAGES);

    void refill(const Shape &shape, bool random_order)
    {
        const Pool &from = pool(shape);
        for (size_t i = 0; i < COLD_PAGES; i++) {
            order[i] = pages.get() + i * BLCKSZ;
            store_past_cache(pages.get() + i * BLCKSZ, from.pages.get() + i % POOL_PAGES * BLCKSZ);
        }
        _mm_sfence();
        if (random_order)
            std::shuffle(order.begin(), order.end(), std::mt19937_64(7));
    }
};

template <typename Pass>
void timed_cold(benchmark::State &state, const Shape &shape, bool random_order, Pass pass)
{
    static Gigabyte gigabyte;
    for (auto _ : state) {
        gigabyte.refill(shape, random_order);
        auto start = Clock::now();
        pass(gigabyte);
        benchmark::ClobberMemory();
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count() / COLD_PAGES);
    }
}

void read_pages(const Gigabyte &gigabyte)
{
    uint64_t sum = 0;
    for (const void *page : gigabyte.order)
        for (size_t at = 0; at < BLCKSZ; at += 64) {
            uint64_t word;
            std::memcpy(&word, static_cast<const uint8_t *>(page) + at, 8);
            sum += word;
        }
    benchmark::DoNotOptimize(sum);
}

// A fast wrong limit is none: both scans must find what the oldest variant leaves as pd_upper, and the same line pointers.
void require_honest_limit(const Shape &shape)
{
    Bytes page = aligned_pages(1), plain = aligned_pages(1), done = aligned_pages(1);
    for (size_t p = 0; p < WORK_PAGES; p++) {
        const uint8_t *from = pool(shape).pages.get() + p * BLCKSZ;
        for (uint8_t *to : {page.get(), plain.get(), done.get()})
            std::memcpy(to, from, BLCKSZ);
        auto n = static_cast<size_t>(shape.n);
        uint32_t upper = new_offsets(plain.get(), n);
        bool same =
            !__builtin_cpu_supports("avx512bw") ||
            (new_offsets_avx512(page.get(), n) == upper && std::memcmp(page.get(), plain.get(), BLCKSZ) == 0);
        pgq_compaction_variants[0].fn(done.get(), true);
        if (!same || upper != pd_upper(done.get())) {
            std::fprintf(stderr, "bench_compaction: the limit's scan is wrong\n");
            std::exit(1);
        }
    }
}

// A fast wrong kernel is worth nothing: before timing, every item-order variant must give pg14's bytes.
void require_equal_results(const Shape &shape)
{
    Bytes expected = aligned_pages(1), got = aligned_pages(1);
    for (size_t p = 0; p < WORK_PAGES; p++) {
        const uint8_t *page = pool(shape).pages.get() + p * BLCKSZ;
        std::memcpy(expected.get(), page, BLCKSZ);
        bool have = false;
        for (size_t v = 0; v < pgq_compaction_variant_count; v++) {
            const auto &variant = pgq_compaction_variants[v];
            if (variant.order != PGQ_COMPACTION_ORDER_ITEM || !variant.supported())
                continue;
            std::memcpy(got.get(), page, BLCKSZ);
            pgq_status status = variant.fn(got.get(), true);
            if (status.code != PGQ_OK || (have && std::memcmp(got.get(), expected.get(), BLCKSZ) != 0)) {
                std::fprintf(stderr, "bench_compaction: variant %s is wrong: %s\n", variant.name,
                             status.code == PGQ_OK ? "it gives other bytes than pg14"
                                                   : pgq_strerror(status.code));
                std::exit(1);
            }
            std::memcpy(expected.get(), got.get(), BLCKSZ);
            have = true;
        }
    }
}

std::string name_of(const char *regime, const Shape &shape, const std::string &variant)
{
    std::string len = std::to_string(shape.len_min);
    if (shape.len_max != shape.len_min)
        len += ".." + std::to_string(shape.len_max);
    return std::string("compaction/regime=") + regime + "/n=" + std::to_string(shape.n) + "/len=" + len +
           "/live=" + std::to_string(shape.live) + "/order=" + (shape.random ? "random" : "presorted") +
           "/variant=" + variant;
}

// `iterations` is fixed so that one repetition is one pass over the pool.
template <typename Body> void add(const std::string &name, int64_t iterations, Body body)
{
    benchmark::RegisterBenchmark(name.c_str(), body)
        ->Iterations(iterations)
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
}

template <typename Call> void add_cached(const Shape &shape, const std::string &variant, Call call)
{
    constexpr int64_t PASS = POOL_PAGES / WORK_PAGES;
    add(name_of("L2", shape, variant), PASS, [=](benchmark::State &state) {
        timed_in_l2(state, shape, [&](uint8_t *page, size_t bytes) { call(page, bytes, state); });
    });
    add(name_of("L1", shape, variant), PASS, [=](benchmark::State &state) {
        timed_in_l1(state, shape, [&](uint8_t *page, size_t bytes) { call(page, bytes, state); });
    });
}

void add_shape(const Shape &shape)
{
    for (size_t v = 0; v < pgq_compaction_variant_count; v++) {
        const auto &variant = pgq_compaction_variants[v];
        if (!variant.supported())
            continue;
        auto call = [&variant](uint8_t *page, size_t, benchmark::State &state) {
            repair(variant, page, state);
        };
        add_cached(shape, variant.name, call);
        if (std::string(variant.name) == "pg14")
            add_cached(shape, "pg14-again", call);
    }
    add_cached(shape, "limit", [shape](uint8_t *page, size_t bytes, benchmark::State &) {
        scan_and_move(page, bytes, shape);
    });
    add_cached(shape, "moves-only",
               [shape](uint8_t *page, size_t bytes, benchmark::State &) { move_only(page, bytes, shape); });
}

void add_cold_shape(const Shape &shape)
{
    for (bool random_order : {false, true}) {
        const char *regime = random_order ? "cold-random" : "cold-sequential";
        auto add_variant = [=](const pgq_compaction_variant &variant, const char *name) {
            add(name_of(regime, shape, name), 1, [=, &variant](benchmark::State &state) {
                timed_cold(state, shape, random_order, [&](Gigabyte &gigabyte) {
                    for (void *page : gigabyte.order)
                        repair(variant, static_cast<uint8_t *>(page), state);
                });
            });
        };
        for (size_t v = 0; v < pgq_compaction_variant_count; v++) {
            const auto &variant = pgq_compaction_variants[v];
            if (!variant.supported())
                continue;
            add_variant(variant, variant.name);
            if (std::string(variant.name) == "pg14")
                add_variant(variant, "pg14-again");
        }
        add(name_of(regime, shape, "batch"), 1, [=](benchmark::State &state) {
            timed_cold(state, shape, random_order, [&](Gigabyte &gigabyte) {
                if (pgq_compaction_repair_fragmentation_batch(gigabyte.order.data(), COLD_PAGES, true,
                                                              gigabyte.status.data()))
                    state.SkipWithError("the batch entry refused a sound page");
            });
        });
        add(name_of(regime, shape, "limit"), 1,
            [=](benchmark::State &state) { timed_cold(state, shape, random_order, read_pages); });
    }
}
} // namespace

int main(int argc, char **argv)
{
    // Every (n, lp_len) fills a page or is as small as they come; the two-INT table with fillfactor 85 is (226, 32).
    static constexpr int sizes[][3] = {{10, 24, 24},  {10, 600, 600}, {50, 24, 24},  {50, 152, 152},
                                       {95, 76, 76},  {100, 32, 32},  {185, 24, 24}, {185, 40, 40},
                                       {226, 32, 32}, {291, 24, 24},  {36, 32, 400}};
    for (auto &[n, len_min, len_max] : sizes)
        for (int live : {50, 85, 97})
            for (bool random : {false, true}) {
                add_shape({n, len_min, len_max, live, random});
                add_cold_shape({n, len_min, len_max, live, random});
            }
    require_equal_results({226, 32, 32, 85, true});
    require_equal_results({36, 32, 400, 50, false});
    require_honest_limit({36, 32, 400, 50, false});
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
