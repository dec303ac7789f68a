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
// work area, and the calls on the group are timed together. `limit` moves the bytes that must move: a memmove of the array
// by one XID (purge, known_assigned), of the survivors (sorted), a memcpy of the snapshot (commit). `upstream-again` and
// `append-again` are those variants under another name: the noise floor (A/A). No wrong kernel is timed: before anything
// else all variants must agree on the first group.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// ---- timing ----

// Sets the time of one call: `call` of 0 to count - 1, timed together, the cost of reading the clock taken off.
template <typename Call> void time_group(benchmark::State &state, size_t count, Call call)
{
    benchmark::ClobberMemory();
    uint64_t start = ticks();
    uint64_t empty = ticks();
    for (size_t i = 0; i < count; i++)
        call(i);
    benchmark::ClobberMemory();
    uint64_t spent = ticks() - empty, clock = empty - start;
    state.SetIterationTime(static_cast<double>(spent - std::min(spent, clock)) * seconds_per_tick() /
                           static_cast<double>(count));
}

// ---- inputs ----

struct Sizes {
    size_t pool, group;
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
};

// Survivors and the others each lie in random order within 2^20 XIDs of xmin.
Array unsorted_array(size_t n, int keep, bool clustered, std::mt19937_64 &random)
{
    Array array{std::vector<uint32_t>(n), normal(static_cast<uint32_t>(random()))};
    size_t kept = n * static_cast<size_t>(keep) / 100;
    std::vector<bool> survives(n);
    std::fill(survives.end() - static_cast<ptrdiff_t>(kept), survives.end(), true);
    if (!clustered)
        std::shuffle(survives.begin(), survives.end(), random);
    for (size_t i = 0; i < n; i++) {
        uint32_t distance = static_cast<uint32_t>(random() % (1 << 20));
        array.xip[i] = normal(survives[i] ? array.xmin + distance : array.xmin - 1 - distance);
    }
    return array;
}

// Strictly rising from xmin - gone * step on; raw-sorted afterwards. wraps: 0 lies in the middle of the survivors.
Array sorted_array(size_t n, int keep, bool wraps, std::mt19937_64 &random)
{
    constexpr uint32_t STEP = 100;
    size_t gone = n - n * static_cast<size_t>(keep) / 100;
    uint32_t spread = static_cast<uint32_t>(n - gone) * STEP;
    Array array{std::vector<uint32_t>(n), wraps ? 0 - spread / 2 : HALF / 2};
    uint32_t xid = array.xmin - static_cast<uint32_t>(gone) * STEP;
    for (size_t i = 0; i < n; i++)
        array.xip[i] = normal(xid + static_cast<uint32_t>(i) * STEP + static_cast<uint32_t>(random() % STEP));
    std::sort(array.xip.begin(), array.xip.end());
    array.xip.erase(std::unique(array.xip.begin(), array.xip.end()), array.xip.end());
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

void require_ok(benchmark::State &state, pgq_status status)
{
    if (status.code != PGQ_OK)
        state.SkipWithError(pgq_strerror(status.code));
}

template <typename Body>
void add(const std::string &name, const std::string &variant, size_t iterations, Body body)
{
    benchmark::RegisterBenchmark(("snapbuild/" + name + "/variant=" + variant).c_str(), body)
        ->Iterations(static_cast<int64_t>(iterations))
        ->UseManualTime()
        ->Unit(benchmark::kNanosecond);
}

// ---- purge, purge_sorted ----

// The group's arrays, each at a multiple of 64 bytes of one work area.
class ArrayGroup
{
  public:
    ArrayGroup(const Pool<Array> &from) : from(from), structs(from.sizes.group)
    {
        stride = 0;
        for (const Array &array : from.inputs)
            stride = std::max(stride, (array.xip.size() + 15) / 16 * 16);
        memory.reset(static_cast<uint32_t *>(
            std::aligned_alloc(4096, (structs.size() * stride * 4 + 4095) / 4096 * 4096)));
    }

    void fill(size_t first, bool sorted)
    {
        for (size_t i = 0; i < structs.size(); i++) {
            const Array &array = from.inputs[first + i];
            structs[i] = {memory.get() + i * stride, array.xip.size(), array.xip.size(), sorted};
            std::memcpy(structs[i].xip, array.xip.data(), array.xip.size() * 4);
        }
    }

    const Pool<Array> &from;
    std::vector<pgq_committed> structs;

  private:
    struct Free {
        void operator()(void *p) const
        {
            std::free(p);
        }
    };
    std::unique_ptr<uint32_t[], Free> memory;
    size_t stride;
};

template <typename Call>
void time_arrays(benchmark::State &state, const Pool<Array> &pool, bool sorted, Call call)
{
    ArrayGroup group(pool);
    size_t first = 0;
    for (auto _ : state) {
        group.fill(first, sorted);
        time_group(state, pool.sizes.group,
                   [&](size_t i) { call(group.structs[i], pool.inputs[first + i]); });
        first = (first + pool.sizes.group) % pool.sizes.pool;
    }
}

using ArrayPool = std::function<std::shared_ptr<Pool<Array>>()>;

void require_equal_purges(const std::string &name, const ArrayPool &pool, bool sorted,
                          const pgq_purge_variant *variants, size_t count)
{
    auto inputs = pool();
    ArrayGroup expected(*inputs), got(*inputs);
    expected.fill(0, sorted);
    for (size_t i = 0; i < inputs->sizes.group; i++)
        variants[0].fn(&expected.structs[i], inputs->inputs[i].xmin);
    for (size_t v = 1; v < count; v++) {
        if (!variants[v].supported())
            continue;
        got.fill(0, sorted);
        for (size_t i = 0; i < inputs->sizes.group; i++) {
            pgq_committed &e = expected.structs[i], &g = got.structs[i];
            variants[v].fn(&g, inputs->inputs[i].xmin);
            if (g.xcnt != e.xcnt || std::memcmp(g.xip, e.xip, e.xcnt * 4) != 0)
                wrong(name, variants[v].name);
        }
    }
}

// How many of a sorted or unsorted array survive.
size_t survivors(const Array &array)
{
    return static_cast<size_t>(
        std::count_if(array.xip.begin(), array.xip.end(), [&](uint32_t x) { return x - array.xmin < HALF; }));
}

void add_purges(const std::string &name, size_t n, bool sorted, const ArrayPool &pool)
{
    const pgq_purge_variant *variants = sorted ? pgq_purge_sorted_variants : pgq_purge_variants;
    size_t count = sorted ? pgq_purge_sorted_variant_count : pgq_purge_variant_count;
    Sizes sizes = sizes_of(n * 4);
    size_t passes = sizes.pool / sizes.group;
    auto run = [=](const pgq_purge_variant &variant) {
        return [=, fn = variant.fn](benchmark::State &state) {
            require_equal_purges(name, pool, sorted, variants, count);
            time_arrays(state, *pool(), sorted, [&](pgq_committed &committed, const Array &array) {
                require_ok(state, fn(&committed, array.xmin));
            });
        };
    };
    for (size_t v = 0; v < count; v++)
        if (variants[v].supported())
            add(name, variants[v].name, passes, run(variants[v]));
    add(name, "upstream-again", passes, run(variants[0]));
    add(name, "limit", passes, [=](benchmark::State &state) {
        auto inputs = pool();
        size_t kept = survivors(inputs->inputs[0]), from = sorted ? n - kept : 1;
        time_arrays(state, *inputs, sorted, [&](pgq_committed &committed, const Array &array) {
            size_t size = array.xip.size();
            std::memmove(committed.xip, committed.xip + from, (size - std::min(from, size)) * 4);
        });
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
                add_purges(name, n, false, [=] {
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
                add_purges(name, n, true, [=] {
                    return pool_of<Array>(name, n * 4, POOL_MAX, [=](std::mt19937_64 &random) {
                        return sorted_array(n, keep, wraps, random);
                    });
                });
            }
}

// ---- purge_full, full_cycle ----

constexpr size_t FULL_PURGES = 32;
constexpr uint64_t FULL_STEP = 100;

void add_purge_full(size_t n)
{
    std::string name = "kind=purge_full/n=" + std::to_string(n);
    auto run = [=](pgq_purge_full_fn fn) {
        return [=](benchmark::State &state) {
            std::mt19937_64 random(n);
            std::vector<uint64_t> source(n), work(n);
            for (size_t i = 0; i < n; i++)
                source[i] = (uint64_t{7} << 32) + i * FULL_STEP + random() % FULL_STEP;
            for (auto _ : state) {
                std::copy(source.begin(), source.end(), work.begin());
                pgq_committed_full committed = {work.data(), 0, n, n};
                time_group(state, FULL_PURGES, [&](size_t i) {
                    require_ok(state, fn(&committed, source[n * (i + 1) / 100] + 1));
                });
                if (committed.xcnt != n - n * FULL_PURGES / 100 - 1)
                    wrong(name, "?");
            }
        };
    };
    size_t iterations = std::clamp<size_t>(20'000'000 / n / FULL_PURGES, 4, 400);
    for (size_t v = 0; v < pgq_purge_full_variant_count; v++)
        add(name, pgq_purge_full_variants[v].name, iterations, run(pgq_purge_full_variants[v].fn));
    add(name, "upstream-again", iterations, run(pgq_purge_full_variants[0].fn));
}

void add_full_cycle(size_t n)
{
    constexpr size_t M = 64;
    std::string name = "kind=full_cycle/n=" + std::to_string(n) + "/m=64";
    size_t cycles = std::max<size_t>(2 * n / M, 64);
    auto run = [=](pgq_purge_full_fn fn) {
        return [=](benchmark::State &state) {
            std::vector<uint64_t> memory(2 * n + 2 * M), batch(M);
            for (auto _ : state) {
                std::iota(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(n), uint64_t{7} << 32 | 3);
                pgq_committed_full committed = {memory.data(), 0, n, memory.size()};
                uint64_t next = memory[n - 1] + 1;
                time_group(state, cycles, [&](size_t) {
                    std::iota(batch.begin(), batch.end(), next);
                    next += M;
                    require_ok(state, pgq_insert_full(&committed, batch.data(), M));
                    require_ok(state, fn(&committed, next - n));
                });
            }
        };
    };
    size_t iterations = n > 10000 ? 1 : 20;
    for (size_t v = 0; v < pgq_purge_full_variant_count; v++)
        add(name, pgq_purge_full_variants[v].name, iterations, run(pgq_purge_full_variants[v].fn));
    add(name, "upstream-again", iterations, run(pgq_purge_full_variants[0].fn));
}

// ---- commit: insert and snapshot ----

using CommitPool = std::function<std::shared_ptr<Pool<Commit>>()>;

struct CommitWork {
    std::vector<uint32_t> xip, batch, snapshot;
    pgq_committed committed;
};

using CommitCall = std::function<void(CommitWork &, benchmark::State &)>;

template <typename Call>
void time_commits(benchmark::State &state, const Pool<Commit> &pool, bool sorted, Call call)
{
    std::vector<CommitWork> group(pool.sizes.group);
    for (CommitWork &work : group) {
        size_t n = pool.inputs[0].sorted.size() + pool.inputs[0].batch.size();
        work.xip.resize(n + 16);
        work.snapshot.resize(n + 16);
    }
    size_t first = 0;
    for (auto _ : state) {
        for (size_t i = 0; i < group.size(); i++) {
            const Commit &input = pool.inputs[first + i];
            const auto &xids = sorted ? input.sorted : input.unsorted;
            std::copy(xids.begin(), xids.end(), group[i].xip.begin());
            group[i].batch = input.batch;
            group[i].committed = {group[i].xip.data(), xids.size(), group[i].xip.size(), sorted};
        }
        time_group(state, group.size(), [&](size_t i) { call(group[i]); });
        first = (first + pool.sizes.group) % pool.sizes.pool;
    }
}

struct CommitPath {
    const char *name;
    pgq_insert_fn insert;
    pgq_snapshot_fn snapshot;
    bool sorted;
};

const std::vector<CommitPath> &commit_paths()
{
    static const std::vector<CommitPath> paths = [] {
        std::vector<CommitPath> found;
        for (size_t v = 0; v < pgq_insert_variant_count; v++)
            found.push_back({pgq_insert_variants[v].name, pgq_insert_variants[v].fn,
                             pgq_snapshot_variants[v == 0 ? 0 : pgq_snapshot_variant_count - 1].fn, v > 0});
        return found;
    }();
    return paths;
}

void run_commit(CommitWork &work, const CommitPath &path, benchmark::State &state)
{
    require_ok(state, path.insert(&work.committed, work.batch.data(), work.batch.size(), true));
    require_ok(state, path.snapshot(&work.committed, work.snapshot.data(), work.snapshot.size()));
}

void require_equal_commits(const std::string &name, const CommitPool &pool)
{
    auto inputs = pool();
    for (size_t i = 0; i < inputs->sizes.group; i++) {
        const Commit &input = inputs->inputs[i];
        std::vector<uint32_t> expected = input.sorted;
        expected.insert(expected.end(), input.batch.begin(), input.batch.end());
        std::sort(expected.begin(), expected.end());
        for (const CommitPath &path : commit_paths()) {
            std::vector<uint32_t> xip = path.sorted ? input.sorted : input.unsorted, batch = input.batch,
                                  got(expected.size());
            pgq_committed committed = {nullptr, xip.size(), expected.size(), path.sorted};
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
    Sizes sizes = sizes_of(bytes, pool_max);
    auto run = [=](const CommitPath &path) {
        return [=](benchmark::State &state) {
            require_equal_commits(name, pool);
            time_commits(state, *pool(), path.sorted,
                         [&](CommitWork &work) { run_commit(work, path, state); });
        };
    };
    for (const CommitPath &path : commit_paths())
        add(name, path.name, sizes.pool / sizes.group, run(path));
    add(name, "append-again", sizes.pool / sizes.group, run(commit_paths()[0]));
    add(name, "limit", sizes.pool / sizes.group, [=](benchmark::State &state) {
        time_commits(state, *pool(), true, [&](CommitWork &work) {
            std::memcpy(work.snapshot.data(), work.xip.data(), (work.committed.xcnt + work.batch.size()) * 4);
        });
    });
}

// ---- before CONSISTENT ----

void add_before(size_t m)
{
    constexpr size_t COMMITS = 1000;
    std::string name = "kind=before/m=" + std::to_string(m);
    auto run = [=](pgq_insert_fn fn) {
        return [=](benchmark::State &state) {
            std::mt19937_64 random(m);
            std::vector<uint32_t> source(COMMITS * m), batches, xip(COMMITS * m);
            for (uint32_t &xid : source)
                xid = normal(static_cast<uint32_t>(random()));
            for (auto _ : state) {
                batches = source;
                pgq_committed committed = {xip.data(), 0, xip.size(), true};
                time_group(state, COMMITS, [&](size_t i) {
                    require_ok(state, fn(&committed, batches.data() + i * m, m, false));
                });
            }
        };
    };
    for (size_t v = 0; v < pgq_insert_variant_count; v++)
        if (m * COMMITS < 20000 || std::string(pgq_insert_variants[v].name) != "batch_merge")
            add(name, pgq_insert_variants[v].name, 100, run(pgq_insert_variants[v].fn));
    add(name, "append-again", 100, run(pgq_insert_variants[0].fn));
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
    auto run = [=](pgq_compress_fn fn) {
        return [=](benchmark::State &state) {
            auto inputs = pool();
            std::vector<Known> group(inputs->inputs.begin(),
                                     inputs->inputs.begin() + static_cast<ptrdiff_t>(sizes.group));
            size_t first = 0;
            for (auto _ : state) {
                for (size_t i = 0; i < group.size(); i++)
                    group[i] = inputs->inputs[first + i];
                time_group(state, group.size(), [&](size_t i) {
                    auto *valid = reinterpret_cast<bool *>(group[i].valid.data());
                    if (fn)
                        benchmark::DoNotOptimize(fn(group[i].xids.data(), valid, 0, n));
                    else
                        std::memmove(group[i].xids.data(), group[i].xids.data() + 1, (n - 1) * 4);
                });
                first = (first + sizes.group) % sizes.pool;
            }
        };
    };
    for (size_t v = 0; v < pgq_known_assigned_variant_count; v++)
        if (pgq_known_assigned_variants[v].supported())
            add(name, pgq_known_assigned_variants[v].name, sizes.pool / sizes.group,
                run(pgq_known_assigned_variants[v].fn));
    add(name, "upstream-again", sizes.pool / sizes.group, run(pgq_known_assigned_variants[0].fn));
    add(name, "limit", sizes.pool / sizes.group, run(nullptr));
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
