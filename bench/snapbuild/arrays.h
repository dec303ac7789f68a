// SPDX-License-Identifier: PostgreSQL
//
// What the benchmarks of `purge` and `purge_sorted` share: groups of arrays to purge, and the yardsticks.
//   limit  moves the bytes that must move in one memmove: an unsorted array by one XID, a sorted one's survivors past the gap.
//   moves  what a purge of an unsorted array must move: one memmove for the survivors of each BLOCK XIDs, as if somebody
//          else had found them. Once the gap outgrows L1 that takes twice as long as the memmove by one XID.
#pragma once

#include <cstring>

#include "harness.h"

namespace snapbuild
{
constexpr uint32_t HALF = uint32_t{1} << 31;
constexpr size_t BLOCK = 256;

// The nearest XID that is not permanent.
inline uint32_t normal(uint32_t xid)
{
    return std::max(xid, 3u);
}

struct Array {
    std::vector<uint32_t> xip;
    uint32_t xmin;
    size_t to, from;                 // what must move down starts at from and goes to to: 1 and 0 if unsorted
    std::vector<uint32_t> survivors; // of each BLOCK, if unsorted
};

using ArrayPool = bench::Pool<Array>;
using Purges = std::vector<bench::Named<pgq_snapbuild_purge_fn>>;

// The arguments of a call, in one place: to search for them elsewhere would be part of every time.
struct PurgeCall {
    pgq_snapbuild_committed committed;
    uint32_t xmin;
    size_t to, from; // as in Array
};

// A work area that holds a group's arrays, each at a multiple of 64 bytes.
class ArrayGroup
{
  public:
    ArrayGroup(const ArrayPool &from, bool sorted) : calls(from.sizes.group), from(from), sorted(sorted)
    {
        for (const Array &array : from.inputs)
            stride = std::max(stride, (array.xip.size() + 15) / 16 * 16);
        memory = bench::aligned<uint32_t>(calls.size() * stride);
        choose_untimed();
    }

    void fill(size_t group)
    {
        for (size_t i = 0; i < calls.size(); i++) {
            const Array &array = from.inputs[group * calls.size() + i];
            size_t n = array.xip.size();
            std::memcpy(memory.get() + i * stride, array.xip.data(), n * 4);
            calls[i] = {{memory.get() + i * stride, n, n, sorted}, array.xmin, array.to, array.from};
        }
    }

    // An untimed call fetches the code. Where a group is one long array, copying it has driven out all else, and a function
    // that does nothing would seem to take 140 ns.
    double time(pgq_snapbuild_purge_fn fn)
    {
        pgq_snapbuild_committed first = {untimed.data(), untimed.size(), untimed.size(), sorted};
        bench::require_ok(fn(&first, from.inputs[0].xmin));
        return bench::time_group(
            calls.size(), [&](size_t i) { bench::require_ok(fn(&calls[i].committed, calls[i].xmin)); });
    }

    // The yardstick `limit`.
    double time_limit()
    {
        return bench::time_group(calls.size(), [&](size_t i) {
            const PurgeCall &call = calls[i];
            uint32_t *xip = call.committed.xip;
            std::memmove(xip + call.to, xip + call.from, (call.committed.xcnt - call.from) * 4);
        });
    }

    // The yardstick `moves`.
    double time_moves(size_t group)
    {
        return bench::time_group(calls.size(), [&](size_t i) {
            uint32_t *to = calls[i].committed.xip;
            const uint32_t *xip = to, *end = xip + calls[i].committed.xcnt;
            for (uint32_t kept : from.inputs[group * calls.size() + i].survivors) {
                xip = std::min(xip + BLOCK, end);
                std::memmove(to, xip - kept, kept * 4);
                to += kept;
            }
        });
    }

    std::vector<PurgeCall> calls;

  private:
    // XIDs that stay, so that there is nothing to purge: two, or of a sorted array up to 65,536 from all of its parts, so that
    // the search goes the same way.
    void choose_untimed()
    {
        const Array &first = from.inputs[0];
        if (!sorted) {
            untimed.assign(2, first.xmin);
            return;
        }
        size_t n = first.xip.size(), m = std::min<size_t>(n, 1 << 16);
        for (size_t i = 0; i < m; i++)
            if (first.xip[i * n / m] - first.xmin < HALF)
                untimed.push_back(first.xip[i * n / m]);
    }

    const ArrayPool &from;
    std::vector<uint32_t> untimed;
    bench::Memory<uint32_t> memory;
    size_t stride = 0;
    bool sorted;
};

// No wrong kernel is timed: all variants must do to the first group what the first one does.
inline void require_equal_purges(const std::string &name, const ArrayPool &pool, bool sorted,
                                 const Purges &variants)
{
    ArrayGroup expected(pool, sorted), got(pool, sorted);
    expected.fill(0);
    expected.time(variants[0].fn);
    for (const auto &variant : variants) {
        if (!variant.fn)
            continue;
        got.fill(0);
        got.time(variant.fn);
        for (size_t i = 0; i < got.calls.size(); i++) {
            const pgq_snapbuild_committed &e = expected.calls[i].committed, &g = got.calls[i].committed;
            if (g.xcnt != e.xcnt || std::memcmp(g.xip, e.xip, e.xcnt * 4) != 0)
                bench::fail(name + ": variant " + variant.name + " differs from upstream's");
        }
    }
}

// A configuration of arrays of n XIDs, each made by make(random).
template <typename Make>
void add_purges(const std::string &name, size_t n, bool sorted, const Purges &variants, Make make)
{
    bench::Sizes sizes = bench::sizes_of(n * 4);
    bench::add(name, bench::names_of(variants), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Array>(name, sizes, make);
        require_equal_purges(name, *pool, sorted, variants);
        auto group = std::make_shared<ArrayGroup>(*pool, sorted);
        return [=](size_t v, size_t g) {
            (void)pool; // the group refers to it
            group->fill(g);
            if (variants[v].fn)
                return group->time(variants[v].fn);
            return variants[v].name == "limit" ? group->time_limit() : group->time_moves(g);
        };
    });
}
} // namespace snapbuild
