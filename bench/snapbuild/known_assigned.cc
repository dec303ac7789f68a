// SPDX-License-Identifier: PostgreSQL
//
// How long does the compressing loop of KnownAssignedXids take over n entries, of which `keep` percent are live?
// `limit` is a memmove of the array by one XID.
#include <cstring>
#include <numeric>

#include "harness.h"

namespace
{
struct Known {
    std::vector<uint32_t> xids;
    std::vector<uint8_t> valid;
};

Known known_assigned(size_t n, int keep, std::mt19937_64 &random)
{
    Known known{std::vector<uint32_t>(n), std::vector<uint8_t>(n)};
    std::iota(known.xids.begin(), known.xids.end(), 3u);
    std::fill_n(known.valid.begin(), n * static_cast<size_t>(keep) / 100, uint8_t{1});
    std::shuffle(known.valid.begin(), known.valid.end(), random);
    return known;
}

void add_known_assigned(size_t n, int keep)
{
    std::string name =
        "snapbuild/kind=known_assigned/n=" + std::to_string(n) + "/keep=" + std::to_string(keep);
    bench::Sizes sizes = bench::sizes_of(n * 5);
    auto variants = bench::supported<pgq_snapbuild_known_assigned_fn>(
        pgq_snapbuild_known_assigned_variants, pgq_snapbuild_known_assigned_variant_count, "upstream");
    variants.push_back({"limit", nullptr});
    bench::add(name, bench::names_of(variants), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Known>(
            name, sizes, [=](std::mt19937_64 &random) { return known_assigned(n, keep, random); });
        std::vector<Known> group(sizes.group);
        return [=](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++)
                group[i] = pool->inputs[g * group.size() + i];
            return bench::time_group(group.size(), [&, fn = variants[v].fn](size_t i) {
                auto *valid = reinterpret_cast<bool *>(group[i].valid.data());
                if (fn)
                    benchmark::DoNotOptimize(fn(group[i].xids.data(), valid, 0, n));
                else
                    std::memmove(group[i].xids.data(), group[i].xids.data() + 1, (n - 1) * 4);
            });
        };
    });
}

const bench::Registration compressions{[] {
    for (size_t n : {100, 1000, 10000, 65536})
        for (int keep : {10, 50, 90})
            add_known_assigned(n, keep);
}};
} // namespace
