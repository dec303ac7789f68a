// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to find the largest of n random numbers?
#include "harness.h"

namespace
{
using Array = std::vector<uint32_t>;

void add_largest(size_t n)
{
    std::string name = "toy/kind=largest/n=" + std::to_string(n);
    bench::Sizes sizes = bench::sizes_of(n * sizeof(uint32_t));
    auto variants = bench::supported<pgq_toy_largest_fn>(pgq_toy_largest_variants,
                                                         pgq_toy_largest_variant_count, "upstream");
    bench::add(name, bench::names_of(variants), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Array>(name, sizes, [=](std::mt19937_64 &random) {
            Array array(n);
            for (uint32_t &x : array)
                x = static_cast<uint32_t>(random());
            return array;
        });
        std::vector<Array> group(sizes.group);
        return [=](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++)
                group[i] = pool->inputs[g * group.size() + i];
            return bench::time_group(group.size(), [&, fn = variants[v].fn](size_t i) {
                uint32_t largest;
                bench::require_ok(fn(group[i].data(), n, &largest));
                benchmark::DoNotOptimize(largest);
            });
        };
    });
}

const bench::Registration searches{[] { add_largest(100); }};
} // namespace
