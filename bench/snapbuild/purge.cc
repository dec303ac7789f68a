// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to purge an unsorted array of n XIDs, of which `keep` percent survive? They lie scattered, or
// clustered: the oldest ones, which go, at the front. arrays.h describes the yardsticks `limit` and `moves`.
#include "arrays.h"

namespace
{
using snapbuild::Array;
using snapbuild::BLOCK;
using snapbuild::normal;

// Survivors and the others each lie in random order within 2^20 XIDs of xmin.
Array unsorted_array(size_t n, int keep, bool clustered, std::mt19937_64 &random)
{
    Array array{std::vector<uint32_t>(n), normal(static_cast<uint32_t>(random())), 0, 1,
                std::vector<uint32_t>((n + BLOCK - 1) / BLOCK)};
    size_t kept = n * static_cast<size_t>(keep) / 100;
    std::vector<bool> survives(n);
    std::fill(survives.end() - static_cast<ptrdiff_t>(kept), survives.end(), true);
    if (!clustered)
        std::shuffle(survives.begin(), survives.end(), random);
    for (size_t i = 0; i < n; i++) {
        uint32_t distance = static_cast<uint32_t>(random() % (1 << 20));
        array.xip[i] = normal(survives[i] ? array.xmin + distance : array.xmin - 1 - distance);
        array.survivors[i / BLOCK] += survives[i];
    }
    return array;
}

void add_purge(size_t n, int keep, bool clustered)
{
    std::string name = "snapbuild/kind=purge/n=" + std::to_string(n) + "/keep=" + std::to_string(keep) +
                       "/order=" + (clustered ? "clustered" : "scattered");
    auto variants = bench::supported<pgq_snapbuild_purge_fn>(pgq_snapbuild_purge_variants,
                                                             pgq_snapbuild_purge_variant_count, "upstream");
    variants.push_back({"limit", nullptr});
    if (n >= 100000) // in shorter arrays no gap outgrows L1, and the calls would count
        variants.push_back({"moves", nullptr});
    snapbuild::add_purges(name, n, false, variants, [=](std::mt19937_64 &random) {
        return unsorted_array(n, keep, clustered, random);
    });
}

const bench::Registration purges{[] {
    for (size_t n : {16, 100, 1000, 10000, 100000, 1000000}) {
        for (int keep : {0, 50, 99, 100})
            add_purge(n, keep, false);
        for (int keep : {50, 99})
            add_purge(n, keep, true);
    }
}};
} // namespace
