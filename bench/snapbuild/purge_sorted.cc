// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to purge a sorted array of n XIDs, of which `keep` percent survive? wrap=yes: what goes lies inside the
// array; keep=100: there is nothing to purge. arrays.h describes the yardstick `limit`.
#include "arrays.h"

namespace
{
using snapbuild::Array;
using snapbuild::HALF;

// About one in STEP of a counter's XIDs, from xmin - gone * STEP on, by gaps of 1 to 2 * STEP - 1; raw-sorted afterwards.
// wraps: 0 lies in the middle of the survivors.
Array sorted_array(size_t n, int keep, bool wraps, std::mt19937_64 &random)
{
    constexpr uint32_t STEP = 100;
    size_t gone = n - n * static_cast<size_t>(keep) / 100;
    uint32_t spread = static_cast<uint32_t>(n - gone) * STEP;
    Array array{std::vector<uint32_t>(n), wraps ? 0 - spread / 2 : HALF / 2, 0, 0, {}};
    uint32_t xid = array.xmin - static_cast<uint32_t>(gone) * STEP;
    for (uint32_t &x : array.xip) {
        x = snapbuild::normal(xid);
        xid += 1 + static_cast<uint32_t>(random() % (2 * STEP - 1));
    }
    std::sort(array.xip.begin(), array.xip.end());
    array.xip.erase(std::unique(array.xip.begin(), array.xip.end()), array.xip.end());
    auto goes = [&](uint32_t x) { return x - array.xmin >= HALF; };
    auto to = std::find_if(array.xip.begin(), array.xip.end(), goes);
    auto from = std::find_if_not(to, array.xip.end(), goes);
    array.to = static_cast<size_t>(to - array.xip.begin());
    array.from = static_cast<size_t>(from - array.xip.begin());
    return array;
}

void add_purge_sorted(size_t n, int keep, bool wraps)
{
    std::string name = "snapbuild/kind=purge_sorted/n=" + std::to_string(n) +
                       "/keep=" + std::to_string(keep) + "/wrap=" + (wraps ? "yes" : "no");
    auto variants = bench::supported<pgq_snapbuild_purge_fn>(
        pgq_snapbuild_purge_sorted_variants, pgq_snapbuild_purge_sorted_variant_count, "upstream");
    if (keep < 100) // otherwise nothing must move
        variants.push_back({"limit", nullptr});
    snapbuild::add_purges(name, n, true, variants,
                          [=](std::mt19937_64 &random) { return sorted_array(n, keep, wraps, random); });
}

const bench::Registration purges{[] {
    for (size_t n : {1000, 10000, 100000, 1000000})
        for (int keep : {50, 99, 100})
            for (bool wraps : {false, true})
                add_purge_sorted(n, keep, wraps);
}};
} // namespace
