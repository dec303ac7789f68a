// SPDX-License-Identifier: PostgreSQL
//
// How often does a policy find a page in a cache of a share of the pages? Counted, not timed: a "nanosecond" is a reference
// to a page, and the figure is references for each hit. `optimum` is Belady's: of what it holds and what comes, the page
// whose next use is farthest goes. Traces: zipf (s = 0.9 over 20,000 pages), scan (a zipf of 2,000 hot pages, with scans of
// 10,000 others between), shift (a zipf whose hot pages change four times), server16 (recorded: tests/tiercache/record.py).
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>

#include "counted.h"

namespace
{
using Trace = std::vector<uint64_t>;

constexpr size_t LENGTH = 200'000;

class Zipf
{
  public:
    Zipf(size_t n, double s) : sums(n)
    {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sums[i] = sum += std::pow(static_cast<double>(i + 1), -s);
    }
    uint64_t operator()(std::mt19937_64 &random) const
    {
        double at = static_cast<double>(random() >> 11) * 0x1p-53 * sums.back();
        return static_cast<uint64_t>(std::lower_bound(sums.begin(), sums.end(), at) - sums.begin());
    }

  private:
    std::vector<double> sums;
};

Trace zipf_trace()
{
    std::mt19937_64 random(1);
    Zipf zipf(20'000, 0.9);
    Trace pages(LENGTH);
    for (uint64_t &page : pages)
        page = zipf(random);
    return pages;
}

Trace scan_trace()
{
    std::mt19937_64 random(2);
    Zipf hot(2'000, 0.7);
    Trace pages;
    while (pages.size() < LENGTH) {
        for (int i = 0; i < 20'000; i++)
            pages.push_back(hot(random));
        for (uint64_t i = 0; i < 10'000; i++) {
            pages.push_back(100'000 + i);
            pages.push_back(hot(random));
        }
    }
    pages.resize(LENGTH);
    return pages;
}

Trace shift_trace()
{
    std::mt19937_64 random(3);
    Zipf zipf(10'000, 0.9);
    Trace pages(LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        pages[i] = (zipf(random) * 7919 + i / (LENGTH / 5) * 3000) % 20'000;
    return pages;
}

Trace recorded_trace()
{
    std::ifstream lines("build/bench/tiercache/server16.txt");
    Trace pages;
    for (uint64_t page; lines >> page;)
        pages.push_back(page);
    if (pages.empty())
        bench::fail("build/bench/tiercache/server16.txt is missing: make build/bench/tiercache/bench");
    return pages;
}

uint64_t most_hits(const Trace &pages, size_t frames)
{
    std::vector<uint64_t> next(pages.size());
    std::unordered_map<uint64_t, uint64_t> last;
    for (size_t i = pages.size(); i-- > 0;) {
        auto found = last.find(pages[i]);
        next[i] = found == last.end() ? pages.size() + i : found->second;
        last[pages[i]] = i;
    }
    std::unordered_map<uint64_t, uint64_t> held;
    std::set<std::pair<uint64_t, uint64_t>> by_use;
    uint64_t hits = 0;
    for (size_t i = 0; i < pages.size(); i++) {
        auto found = held.find(pages[i]);
        if (found != held.end()) {
            hits++;
            by_use.erase({found->second, pages[i]});
        }
        held[pages[i]] = next[i];
        by_use.insert({next[i], pages[i]});
        if (held.size() > frames) {
            held.erase(by_use.rbegin()->second);
            by_use.erase(std::prev(by_use.end()));
        }
    }
    return hits;
}

// percent: the frames, as a share of the trace's distinct pages.
void add_policy(const std::string &trace, Trace (*make)(), size_t percent)
{
    std::string name = "tiercache/kind=policy/trace=" + trace + "/percent=" + std::to_string(percent);
    auto variants = bench::supported<pgq_tiercache_policy_fn>(pgq_tiercache_policy_variants,
                                                              pgq_tiercache_policy_variant_count, "lru");
    variants.push_back({"optimum", nullptr});
    tiercache::add_counted(name, bench::names_of(variants), [=]() -> std::vector<double> {
        Trace pages = make();
        size_t frames = std::set<uint64_t>(pages.begin(), pages.end()).size() * percent / 100;
        std::vector<double> references;
        for (const auto &variant : variants) {
            uint64_t hits = 0;
            if (variant.fn)
                bench::require_ok(
                    variant.fn(pages.data(), pages.size(), static_cast<uint32_t>(frames), &hits));
            else
                hits = most_hits(pages, frames);
            references.push_back(static_cast<double>(pages.size()) / static_cast<double>(hits));
        }
        return references;
    });
}

const bench::Registration policies{[] {
    for (size_t percent : {5, 20, 50}) {
        add_policy("zipf", zipf_trace, percent);
        add_policy("scan", scan_trace, percent);
        add_policy("shift", shift_trace, percent);
        add_policy("server16", recorded_trace, percent);
    }
    add_policy("server16", recorded_trace, 2);
}};
} // namespace
