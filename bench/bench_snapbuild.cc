// SPDX-License-Identifier: PostgreSQL
//
// How long do the operations on the snapshot builder's XID arrays take, by each variant?
//
//   purge            an unsorted array of n XIDs, of which `keep` percent survive, scattered or clustered (the oldest go)
//   purge_sorted     the same of a sorted array; wrap=yes: what goes lies inside it; keep=100: nothing to purge
//   purge_full       FullTransactionIds; each of 32 purges in a row drops one percent
//   full_cycle       insert 64, purge 64, again and again: with the compaction that a moving head puts off
//   commit           insert a commit of m XIDs into n, and build the snapshot: upstream appends and sorts
//   before           a thousand commits of m XIDs tracked before CONSISTENT, no snapshot built
//   known_assigned   the compressing loop over n entries, of which `keep` percent are live
//
// Inputs come from a pool that is too large to be learned by the branch predictor; a group of them is copied, untimed, into a
// work area, and the calls on the group are timed together. The variants take turns, a group each, so that all meet the
// same noise (Rounds). `limit` moves the bytes that must move: a memmove of the array by one XID (purge, known_assigned),
// of the survivors past the gap (sorted), a memcpy of the snapshot (commit). `moves` is what a purge of a long unsorted array must
// move, as far as it must: a memmove for the survivors of each 256 XIDs, as if somebody else had found them. Past a gap that
// outgrows L1 it takes twice as long as the memmove by one XID. `upstream-again` and `append-again` are those variants under
// another name: the noise floor (A/A). No wrong kernel is timed: before anything else all variants must
// agree on the first group.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ticks.h"

extern "C" {
#include "pgquern.h"
}

namespace
{
constexpr size_t WORK_BYTES = 512 * 1024;
constexpr size_t POOL_BYTES = 64 * 1024 * 1024;
constexpr size_t POOL_MAX = 4096;
constexpr uint32_t HALF = uint32_t{1} << 31;
constexpr size_t BLOCK = 256;

// ---- timing ----

// Seconds of one call: `call` of 0 to count - 1, timed together, the cost of reading the clock taken off.
template <typename Call> double time_group(size_t count, Call call)
{
    benchmark::ClobberMemory();
    uint64_t start = ticks();
    uint64_t empty = ticks();
    for (size_t i = 0; i < count; i++)
        call(i);
    benchmark::ClobberMemory();
    uint64_t spent = ticks() - empty, clock = empty - start;
    // What takes less than the counter's step counts as one.
    uint64_t taken = std::max(spent - std::min(spent, clock), tick_step());
    return static_cast<double>(taken) * seconds_per_tick() / static_cast<double>(count);
}

// Seconds of one call of variant number v, on the inputs of group number g.
using Timer = std::function<double(size_t v, size_t g)>;

// A configuration's variants, side by side: a round is one pass over the groups, in which they take turns in random order,
// so that what slows the machine down for a while slows them all, and none always follows the same one. A variant's time in
// a round is the median of its groups'. No two are on the same group at a time: a variant under another name would find the
// branches learned.
class Rounds
{
  public:
    Rounds(size_t variants, size_t groups, std::function<Timer()> timer)
        : variants(variants), groups(groups), timer(std::move(timer)), times(variants)
    {
    }

    // Variant v's time in the next round that it was not asked for yet.
    double next(size_t v)
    {
        if (times[v].empty())
            run();
        double time = times[v].front();
        times[v].pop_front();
        return time;
    }

  private:
    void run()
    {
        Timer time = timer();
        std::vector<std::vector<double>> samples(variants);
        std::vector<size_t> order(variants);
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t g = 0; g < groups; g++) {
            std::shuffle(order.begin(), order.end(), random);
            for (size_t v : order)
                samples[v].push_back(time(v, (g + v * groups / variants) % groups));
        }
        for (size_t v = 0; v < variants; v++) {
            auto middle = samples[v].begin() + static_cast<ptrdiff_t>(groups / 2);
            std::nth_element(samples[v].begin(), middle, samples[v].end());
            times[v].push_back(*middle);
        }
    }

    size_t variants, groups;
    std::function<Timer()> timer;
    std::vector<std::deque<double>> times;
    std::mt19937_64 random;
};

// Registers a configuration; `timer` is called at the start of each of its rounds.
void add(const std::string &name, const std::vector<std::string> &variants, size_t groups,
         const std::function<Timer()> &timer)
{
    auto rounds = std::make_shared<Rounds>(variants.size(), groups, timer);
    for (size_t v = 0; v < variants.size(); v++)
        benchmark::RegisterBenchmark(("snapbuild/" + name + "/variant=" + variants[v]).c_str(),
                                     [=](benchmark::State &state) {
                                         for (auto _ : state)
                                             state.SetIterationTime(rounds->next(v));
                                     })
            ->Iterations(1)
            ->UseManualTime()
            ->Unit(benchmark::kNanosecond);
}

// A kernel under its name in a configuration.
template <typename Fn> struct Named {
    std::string name;
    Fn fn;
};

template <typename Fn> std::vector<std::string> names_of(const std::vector<Named<Fn>> &variants)
{
    std::vector<std::string> names;
    for (const Named<Fn> &variant : variants)
        names.push_back(variant.name);
    return names;
}

void require_ok(pgq_status status)
{
    if (status.code != PGQ_OK) {
        std::fprintf(stderr, "bench_snapbuild: %s\n", pgq_strerror(status.code));
        std::exit(1);
    }
}

// ---- inputs ----

struct Sizes {
    size_t pool, group;

    size_t groups() const
    {
        return pool / group;
    }
};

// How many inputs of `bytes` a pool and a group have; a pool is a whole number of groups.
Sizes sizes_of(size_t bytes, size_t pool_max = POOL_MAX)
{
    size_t group = std::clamp<size_t>(WORK_BYTES / bytes, 1, 256);
    size_t pool = std::clamp<size_t>(POOL_BYTES / bytes, 16, pool_max);
    group = std::min(group, pool);
    return {pool / group * group, group};
}

uint32_t normal(uint32_t xid)
{
    return std::max(xid, 3u);
}

struct Array {
    std::vector<uint32_t> xip;
    uint32_t xmin;
    size_t to, from;                 // what must move down, and to where: from 1 to 0 if it is not sorted
    std::vector<uint32_t> survivors; // of each BLOCK, if it is not sorted
};

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

// One in STEP or so of a counter's XIDs: rising from xmin - gone * STEP on, by gaps of 1 to 2 * STEP - 1; raw-sorted
// afterwards. wraps: 0 lies in the middle of the survivors.
Array sorted_array(size_t n, int keep, bool wraps, std::mt19937_64 &random)
{
    constexpr uint32_t STEP = 100;
    size_t gone = n - n * static_cast<size_t>(keep) / 100;
    uint32_t spread = static_cast<uint32_t>(n - gone) * STEP;
    Array array{std::vector<uint32_t>(n), wraps ? 0 - spread / 2 : HALF / 2, 0, 0, {}};
    uint32_t xid = array.xmin - static_cast<uint32_t>(gone) * STEP;
    for (uint32_t &x : array.xip) {
        x = normal(xid);
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

struct Commit {
    std::vector<uint32_t> unsorted, sorted, batch; // unsorted and sorted hold the same
};

// near: in commit order, each transaction within 64 XIDs of its place; the batch is one with the newest XIDs, in the order of
// a commit record: subtransactions first, the top one last. Else: all of half the ring, in no order.
Commit commit(size_t n, size_t m, bool near, std::mt19937_64 &random)
{
    Commit c;
    std::vector<uint32_t> xids(n + m);
    if (near) {
        std::iota(xids.begin(), xids.end(), 1u << 20);
        c.batch.assign(xids.end() - static_cast<ptrdiff_t>(m), xids.end());
        std::rotate(c.batch.begin(), c.batch.begin() + 1, c.batch.end());
        xids.resize(n);
        std::vector<std::pair<uint32_t, uint32_t>> order;
        for (uint32_t xid : xids)
            order.emplace_back(xid + static_cast<uint32_t>(random() % 64), xid);
        std::sort(order.begin(), order.end());
        for (size_t i = 0; i < n; i++)
            xids[i] = order[i].second;
    } else {
        do {
            for (uint32_t &xid : xids)
                xid = 3 + static_cast<uint32_t>(random() % (HALF - 3));
            std::sort(xids.begin(), xids.end());
        } while (std::adjacent_find(xids.begin(), xids.end()) != xids.end() && n < 1000);
        xids.erase(std::unique(xids.begin(), xids.end()), xids.end());
        std::shuffle(xids.begin(), xids.end(), random);
        c.batch.assign(xids.end() - static_cast<ptrdiff_t>(m), xids.end());
        xids.resize(xids.size() - m);
    }
    c.unsorted = c.sorted = xids;
    std::sort(c.sorted.begin(), c.sorted.end());
    return c;
}

template <typename Input> struct Pool {
    Sizes sizes;
    std::vector<Input> inputs;
};

// Made at its first use, and kept while benchmarks of the same name use it.
template <typename Input, typename Make>
std::shared_ptr<Pool<Input>> pool_of(const std::string &name, size_t bytes, size_t pool_max, Make make)
{
    static std::map<std::string, std::shared_ptr<Pool<Input>>> pools;
    auto &pool = pools[name];
    if (!pool) {
        for (auto &[other, kept] : pools)
            if (other != name)
                kept.reset();
        std::mt19937_64 random(std::hash<std::string>{}(name));
        pool = std::make_shared<Pool<Input>>();
        pool->sizes = sizes_of(bytes, pool_max);
        for (size_t i = 0; i < pool->sizes.pool; i++)
            pool->inputs.push_back(make(random));
    }
    return pool;
}

[[noreturn]] void wrong(const std::string &name, const char *variant)
{
    std::fprintf(stderr, "bench_snapbuild: %s: variant %s differs from upstream's\n", name.c_str(), variant);
    std::exit(1);
}

// ---- purge, purge_sorted ----

// What a call needs, in one place: looking for it elsewhere would be part of every time.
struct Purge {
    pgq_snapbuild_committed committed;
    uint32_t xmin;
    size_t to, from; // where a sorted array's gap begins and ends
};

// The group's arrays, each at a multiple of 64 bytes of one work area.
class ArrayGroup
{
  public:
    ArrayGroup(const Pool<Array> &from, bool sorted) : calls(from.sizes.group), from(from), sorted(sorted)
    {
        stride = 0;
        for (const Array &array : from.inputs)
            stride = std::max(stride, (array.xip.size() + 15) / 16 * 16);
        const Array &first = from.inputs[0];
        untimed.assign(2, first.xmin);
        if (sorted) {
            size_t n = first.xip.size(), m = std::min<size_t>(n, 1 << 16);
            untimed.clear();
            for (size_t i = 0; i < m; i++)
                if (first.xip[i * n / m] - first.xmin < HALF)
                    untimed.push_back(first.xip[i * n / m]);
        }
        memory.reset(static_cast<uint32_t *>(
            std::aligned_alloc(4096, (calls.size() * stride * 4 + 4095) / 4096 * 4096)));
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

    // An untimed call fetches the code: where a group is one long array, its copying has driven out all else, and a function
    // that does nothing would seem to take 140 ns. It finds nothing to purge; a sorted array's search goes the same way, though.
    double time(pgq_snapbuild_purge_fn fn)
    {
        pgq_snapbuild_committed first = {untimed.data(), untimed.size(), untimed.size(), sorted};
        require_ok(fn(&first, from.inputs[0].xmin));
        return time_group(calls.size(),
                          [&](size_t i) { require_ok(fn(&calls[i].committed, calls[i].xmin)); });
    }

    // Just the memmove.
    double time_limit()
    {
        return time_group(calls.size(), [&](size_t i) {
            const Purge &call = calls[i];
            uint32_t *xip = call.committed.xip;
            std::memmove(xip + call.to, xip + call.from, (call.committed.xcnt - call.from) * 4);
        });
    }

    // Just the memmoves of the survivors to where they belong.
    double time_moves(size_t group)
    {
        return time_group(calls.size(), [&](size_t i) {
            uint32_t *to = calls[i].committed.xip;
            const uint32_t *xip = to, *end = xip + calls[i].committed.xcnt;
            for (uint32_t kept : from.inputs[group * calls.size() + i].survivors) {
                xip = std::min(xip + BLOCK, end);
                std::memmove(to, xip - kept, kept * 4);
                to += kept;
            }
        });
    }

    std::vector<Purge> calls;

  private:
    struct Free {
        void operator()(void *p) const
        {
            std::free(p);
        }
    };
    const Pool<Array> &from;
    std::vector<uint32_t> untimed; // XIDs that stay, of all parts of the array
    std::unique_ptr<uint32_t[], Free> memory;
    size_t stride;
    bool sorted;
};

using ArrayPool = std::function<std::shared_ptr<Pool<Array>>()>;
using Purges = std::vector<Named<pgq_snapbuild_purge_fn>>;

void require_equal_purges(const std::string &name, const Pool<Array> &pool, bool sorted,
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
                wrong(name, variant.name.c_str());
        }
    }
}

// movable: there is something to move, and so a limit.
void add_purges(const std::string &name, size_t n, bool sorted, bool movable, const ArrayPool &pool)
{
    const pgq_snapbuild_purge_variant *table =
        sorted ? pgq_snapbuild_purge_sorted_variants : pgq_snapbuild_purge_variants;
    size_t count = sorted ? pgq_snapbuild_purge_sorted_variant_count : pgq_snapbuild_purge_variant_count;
    Purges variants;
    for (size_t v = 0; v < count; v++)
        if (table[v].supported())
            variants.push_back({table[v].name, table[v].fn});
    variants.push_back({"upstream-again", table[0].fn});
    if (movable)
        variants.push_back({"limit", nullptr});
    if (!sorted && n >= 100000) // in shorter ones no gap outgrows L1, and the calls would count
        variants.push_back({"moves", nullptr});
    add(name, names_of(variants), sizes_of(n * 4).groups(), [=]() -> Timer {
        auto inputs = pool();
        require_equal_purges(name, *inputs, sorted, variants);
        auto group = std::make_shared<ArrayGroup>(*inputs, sorted);
        return [=](size_t v, size_t g) {
            group->fill(g);
            if (variants[v].fn)
                return group->time(variants[v].fn);
            return variants[v].name == "limit" ? group->time_limit() : group->time_moves(g);
        };
    });
}

void add_all_purges()
{
    for (size_t n : {16, 100, 1000, 10000, 100000, 1000000})
        for (int keep : {0, 50, 99, 100})
            for (bool clustered : {false, true}) {
                if (clustered && keep != 50 && keep != 99)
                    continue;
                std::string name = "kind=purge/n=" + std::to_string(n) + "/keep=" + std::to_string(keep) +
                                   "/order=" + (clustered ? "clustered" : "scattered");
                add_purges(name, n, false, true, [=] {
                    return pool_of<Array>(name, n * 4, POOL_MAX, [=](std::mt19937_64 &random) {
                        return unsorted_array(n, keep, clustered, random);
                    });
                });
            }
    for (size_t n : {1000, 10000, 100000, 1000000})
        for (int keep : {50, 99, 100})
            for (bool wraps : {false, true}) {
                std::string name = "kind=purge_sorted/n=" + std::to_string(n) +
                                   "/keep=" + std::to_string(keep) + "/wrap=" + (wraps ? "yes" : "no");
                add_purges(name, n, true, keep < 100, [=] {
                    return pool_of<Array>(name, n * 4, POOL_MAX, [=](std::mt19937_64 &random) {
                        return sorted_array(n, keep, wraps, random);
                    });
                });
            }
}

// ---- purge_full, full_cycle ----

constexpr size_t FULL_PURGES = 32;
constexpr uint64_t FULL_STEP = 100;

const std::vector<Named<pgq_snapbuild_purge_full_fn>> &full_variants()
{
    static const auto variants = [] {
        std::vector<Named<pgq_snapbuild_purge_full_fn>> found;
        for (size_t v = 0; v < pgq_snapbuild_purge_full_variant_count; v++)
            found.push_back(
                {pgq_snapbuild_purge_full_variants[v].name, pgq_snapbuild_purge_full_variants[v].fn});
        found.push_back({"upstream-again", pgq_snapbuild_purge_full_variants[0].fn});
        return found;
    }();
    return variants;
}

void add_purge_full(size_t n)
{
    std::string name = "kind=purge_full/n=" + std::to_string(n);
    size_t rounds = std::clamp<size_t>(20'000'000 / n / FULL_PURGES, 4, 400);
    add(name, names_of(full_variants()), rounds, [=]() -> Timer {
        std::mt19937_64 random(n);
        std::vector<uint64_t> source(n), work(n);
        for (size_t i = 0; i < n; i++)
            source[i] = (uint64_t{7} << 32) + i * FULL_STEP + random() % FULL_STEP;
        return [=](size_t v, size_t) mutable {
            std::copy(source.begin(), source.end(), work.begin());
            pgq_snapbuild_committed_full committed = {work.data(), 0, n, n};
            double time = time_group(FULL_PURGES, [&, fn = full_variants()[v].fn](size_t i) {
                require_ok(fn(&committed, source[n * (i + 1) / 100] + 1));
            });
            if (committed.xcnt != n - n * FULL_PURGES / 100 - 1)
                wrong(name, full_variants()[v].name.c_str());
            return time;
        };
    });
}

void add_full_cycle(size_t n)
{
    constexpr size_t M = 64;
    std::string name = "kind=full_cycle/n=" + std::to_string(n) + "/m=64";
    size_t cycles = std::max<size_t>(2 * n / M, 64);
    add(name, names_of(full_variants()), n > 10000 ? 1 : 20, [=]() -> Timer {
        std::vector<uint64_t> memory(2 * n + 2 * M), batch(M);
        return [=](size_t v, size_t) mutable {
            std::iota(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(n), uint64_t{7} << 32 | 3);
            pgq_snapbuild_committed_full committed = {memory.data(), 0, n, memory.size()};
            uint64_t next = memory[n - 1] + 1;
            return time_group(cycles, [&, fn = full_variants()[v].fn](size_t) {
                std::iota(batch.begin(), batch.end(), next);
                next += M;
                require_ok(pgq_snapbuild_insert_full(&committed, batch.data(), M));
                require_ok(fn(&committed, next - n));
            });
        };
    });
}

// ---- commit: insert and snapshot ----

using CommitPool = std::function<std::shared_ptr<Pool<Commit>>()>;

struct CommitWork {
    std::vector<uint32_t> xip, batch, snapshot;
    pgq_snapbuild_committed committed;
};

// The group's arrays and batches, and space for the snapshots.
class CommitGroup
{
  public:
    CommitGroup(const Pool<Commit> &from) : from(from), calls(from.sizes.group)
    {
        size_t n = from.inputs[0].sorted.size() + from.inputs[0].batch.size();
        for (CommitWork &call : calls) {
            call.xip.resize(n + 16);
            call.snapshot.resize(n + 16);
        }
    }

    void fill(size_t group, bool sorted)
    {
        for (size_t i = 0; i < calls.size(); i++) {
            const Commit &input = from.inputs[group * calls.size() + i];
            const auto &xids = sorted ? input.sorted : input.unsorted;
            std::copy(xids.begin(), xids.end(), calls[i].xip.begin());
            calls[i].batch = input.batch;
            calls[i].committed = {calls[i].xip.data(), xids.size(), calls[i].xip.size(), sorted};
        }
    }

    // An untimed call fetches the code, as in ArrayGroup.
    template <typename Call> double time(Call call)
    {
        CommitWork few;
        few.xip = {3, 5, 0, 0};
        few.batch = {4, 6};
        few.snapshot.resize(4);
        few.committed = {few.xip.data(), 2, 4, true};
        call(few);
        return time_group(calls.size(), [&](size_t i) { call(calls[i]); });
    }

  private:
    const Pool<Commit> &from;
    std::vector<CommitWork> calls;
};

struct CommitPath {
    const char *name;
    pgq_snapbuild_insert_fn insert;
    pgq_snapbuild_snapshot_fn snapshot;
    bool sorted;
};

const std::vector<CommitPath> &commit_paths()
{
    static const std::vector<CommitPath> paths = [] {
        std::vector<CommitPath> found;
        for (size_t v = 0; v < pgq_snapbuild_insert_variant_count; v++)
            found.push_back(
                {pgq_snapbuild_insert_variants[v].name, pgq_snapbuild_insert_variants[v].fn,
                 pgq_snapbuild_snapshot_variants[v == 0 ? 0 : pgq_snapbuild_snapshot_variant_count - 1].fn,
                 v > 0});
        return found;
    }();
    return paths;
}

void run_commit(CommitWork &work, const CommitPath &path)
{
    require_ok(path.insert(&work.committed, work.batch.data(), work.batch.size(), true));
    require_ok(path.snapshot(&work.committed, work.snapshot.data(), work.snapshot.size()));
}

void require_equal_commits(const std::string &name, const Pool<Commit> &pool)
{
    for (size_t i = 0; i < pool.sizes.group; i++) {
        const Commit &input = pool.inputs[i];
        std::vector<uint32_t> expected = input.sorted;
        expected.insert(expected.end(), input.batch.begin(), input.batch.end());
        std::sort(expected.begin(), expected.end());
        for (const CommitPath &path : commit_paths()) {
            std::vector<uint32_t> xip = path.sorted ? input.sorted : input.unsorted, batch = input.batch,
                                  got(expected.size());
            pgq_snapbuild_committed committed = {nullptr, xip.size(), expected.size(), path.sorted};
            xip.resize(expected.size());
            committed.xip = xip.data();
            path.insert(&committed, batch.data(), batch.size(), true);
            path.snapshot(&committed, got.data(), got.size());
            if (got != expected)
                wrong(name, path.name);
        }
    }
}

void add_commits(size_t n, size_t m, bool near)
{
    std::string name = "kind=commit/n=" + std::to_string(n) + "/m=" + std::to_string(m) +
                       "/order=" + (near ? "near" : "uniform");
    size_t bytes = (3 * n + 4 * m) * 4, pool_max = n >= 100000 ? 16 : n >= 10000 ? 128 : POOL_MAX;
    CommitPool pool = [=] {
        return pool_of<Commit>(name, bytes, pool_max,
                               [=](std::mt19937_64 &random) { return commit(n, m, near, random); });
    };
    std::vector<std::string> names;
    for (const CommitPath &path : commit_paths())
        names.push_back(path.name);
    names.insert(names.end(), {"append-again", "limit"});
    add(name, names, sizes_of(bytes, pool_max).groups(), [=]() -> Timer {
        auto inputs = pool();
        require_equal_commits(name, *inputs);
        auto group = std::make_shared<CommitGroup>(*inputs);
        return [=](size_t v, size_t g) {
            const auto &paths = commit_paths();
            if (v <= paths.size()) {
                const CommitPath &path = paths[v % paths.size()];
                group->fill(g, path.sorted);
                return group->time([&](CommitWork &work) { run_commit(work, path); });
            }
            group->fill(g, true);
            return group->time([](CommitWork &work) {
                std::memcpy(work.snapshot.data(), work.xip.data(),
                            (work.committed.xcnt + work.batch.size()) * 4);
            });
        };
    });
}

// ---- before CONSISTENT ----

void add_before(size_t m)
{
    constexpr size_t COMMITS = 1000;
    std::string name = "kind=before/m=" + std::to_string(m);
    std::vector<Named<pgq_snapbuild_insert_fn>> variants;
    for (size_t v = 0; v < pgq_snapbuild_insert_variant_count; v++)
        if (m * COMMITS < 20000 || std::string(pgq_snapbuild_insert_variants[v].name) != "batch_merge")
            variants.push_back({pgq_snapbuild_insert_variants[v].name, pgq_snapbuild_insert_variants[v].fn});
    variants.push_back({"append-again", pgq_snapbuild_insert_variants[0].fn});
    add(name, names_of(variants), 100, [=]() -> Timer {
        std::mt19937_64 random(m);
        std::vector<uint32_t> source(COMMITS * m), batches, xip(COMMITS * m);
        for (uint32_t &xid : source)
            xid = normal(static_cast<uint32_t>(random()));
        return [=](size_t v, size_t) mutable {
            batches = source;
            pgq_snapbuild_committed committed = {xip.data(), 0, xip.size(), true};
            return time_group(COMMITS, [&, fn = variants[v].fn](size_t i) {
                require_ok(fn(&committed, batches.data() + i * m, m, false));
            });
        };
    });
}

// ---- known_assigned ----

void add_known_assigned(size_t n, int keep)
{
    std::string name = "kind=known_assigned/n=" + std::to_string(n) + "/keep=" + std::to_string(keep);
    Sizes sizes = sizes_of(n * 5);
    struct Known {
        std::vector<uint32_t> xids;
        std::vector<uint8_t> valid;
    };
    auto pool = [=] {
        return pool_of<Known>(name, n * 5, POOL_MAX, [=](std::mt19937_64 &random) {
            Known known{std::vector<uint32_t>(n), std::vector<uint8_t>(n)};
            std::iota(known.xids.begin(), known.xids.end(), 3u);
            std::fill_n(known.valid.begin(), n * static_cast<size_t>(keep) / 100, uint8_t{1});
            std::shuffle(known.valid.begin(), known.valid.end(), random);
            return known;
        });
    };
    std::vector<Named<pgq_snapbuild_known_assigned_fn>> variants;
    for (size_t v = 0; v < pgq_snapbuild_known_assigned_variant_count; v++)
        if (pgq_snapbuild_known_assigned_variants[v].supported())
            variants.push_back(
                {pgq_snapbuild_known_assigned_variants[v].name, pgq_snapbuild_known_assigned_variants[v].fn});
    variants.push_back({"upstream-again", pgq_snapbuild_known_assigned_variants[0].fn});
    variants.push_back({"limit", nullptr});
    add(name, names_of(variants), sizes.groups(), [=]() -> Timer {
        auto inputs = pool();
        std::vector<Known> group(inputs->inputs.begin(),
                                 inputs->inputs.begin() + static_cast<ptrdiff_t>(sizes.group));
        return [=](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++)
                group[i] = inputs->inputs[g * group.size() + i];
            return time_group(group.size(), [&, fn = variants[v].fn](size_t i) {
                auto *valid = reinterpret_cast<bool *>(group[i].valid.data());
                if (fn)
                    benchmark::DoNotOptimize(fn(group[i].xids.data(), valid, 0, n));
                else
                    std::memmove(group[i].xids.data(), group[i].xids.data() + 1, (n - 1) * 4);
            });
        };
    });
}
} // namespace

int main(int argc, char **argv)
{
    add_all_purges();
    for (size_t n : {1000, 10000, 100000, 1000000})
        add_purge_full(n);
    for (size_t n : {1000, 100000})
        add_full_cycle(n);
    for (size_t n : {100, 1000, 10000, 100000})
        for (size_t m : {1, 8, 64})
            for (bool near : {true, false})
                add_commits(n, m, near);
    for (size_t m : {1, 4, 64})
        add_before(m);
    for (size_t n : {100, 1000, 10000, 65536})
        for (int keep : {10, 50, 90})
            add_known_assigned(n, keep);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
