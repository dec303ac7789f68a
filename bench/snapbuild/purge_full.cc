// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to purge an array of n FullTransactionIds?
//   purge_full  each of 32 purges in a row drops one percent
//   full_cycle  insert 64, purge 64, again and again: includes the compaction that a moving head puts off
#include <numeric>

#include "harness.h"

namespace
{
constexpr size_t PURGES = 32;
constexpr uint64_t STEP = 100;

std::vector<bench::Named<pgq_snapbuild_purge_full_fn>> full_variants()
{
    return bench::supported<pgq_snapbuild_purge_full_fn>(pgq_snapbuild_purge_full_variants,
                                                         pgq_snapbuild_purge_full_variant_count, "upstream");
}

void add_purge_full(size_t n)
{
    std::string name = "snapbuild/kind=purge_full/n=" + std::to_string(n);
    size_t groups = std::clamp<size_t>(20'000'000 / n / PURGES, 4, 400);
    auto variants = full_variants();
    bench::add(name, bench::names_of(variants), groups, [=]() -> bench::Timer {
        std::mt19937_64 random(n);
        std::vector<uint64_t> source(n), work(n);
        for (size_t i = 0; i < n; i++)
            source[i] = (uint64_t{7} << 32) + i * STEP + random() % STEP;
        return [=](size_t v, size_t) mutable {
            std::copy(source.begin(), source.end(), work.begin());
            pgq_snapbuild_committed_full committed = {work.data(), 0, n, n};
            double time = bench::time_group(PURGES, [&, fn = variants[v].fn](size_t i) {
                bench::require_ok(fn(&committed, source[n * (i + 1) / 100] + 1));
            });
            if (committed.xcnt != n - n * PURGES / 100 - 1)
                bench::fail(name + ": variant " + variants[v].name + " keeps another number of XIDs");
            return time;
        };
    });
}

void add_full_cycle(size_t n)
{
    constexpr size_t M = 64;
    std::string name = "snapbuild/kind=full_cycle/n=" + std::to_string(n) + "/m=64";
    size_t cycles = std::max<size_t>(2 * n / M, 64);
    auto variants = full_variants();
    bench::add(name, bench::names_of(variants), n > 10000 ? 1 : 20, [=]() -> bench::Timer {
        std::vector<uint64_t> memory(2 * n + 2 * M), batch(M);
        return [=](size_t v, size_t) mutable {
            std::iota(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(n), uint64_t{7} << 32 | 3);
            pgq_snapbuild_committed_full committed = {memory.data(), 0, n, memory.size()};
            uint64_t next = memory[n - 1] + 1;
            return bench::time_group(cycles, [&, fn = variants[v].fn](size_t) {
                std::iota(batch.begin(), batch.end(), next);
                next += M;
                bench::require_ok(pgq_snapbuild_insert_full(&committed, batch.data(), M));
                bench::require_ok(fn(&committed, next - n));
            });
        };
    });
}

const bench::Registration purges{[] {
    for (size_t n : {1000, 10000, 100000, 1000000})
        add_purge_full(n);
    for (size_t n : {1000, 100000})
        add_full_cycle(n);
}};
} // namespace
