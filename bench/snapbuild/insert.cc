// SPDX-License-Identifier: PostgreSQL
//
// How long does a commit take?
//   commit  insert a commit of m XIDs into n, and build the snapshot: upstream appends, and sorts for each snapshot
//   before  a thousand commits of m XIDs tracked before CONSISTENT, no snapshot built
// `limit` is a memcpy of the snapshot.
#include <cstring>
#include <numeric>

#include "harness.h"

namespace
{
constexpr uint32_t HALF = uint32_t{1} << 31;

// ---- inputs ----

struct Commit {
    std::vector<uint32_t> unsorted, sorted, batch; // unsorted and sorted hold the same XIDs
};

// In commit order, each transaction within 64 XIDs of its place; the batch has the newest XIDs, in the order of a commit
// record: subtransactions first, the top one last.
Commit near_commit(size_t n, size_t m, std::mt19937_64 &random)
{
    Commit c;
    std::vector<uint32_t> xids(n + m);
    std::iota(xids.begin(), xids.end(), 1u << 20);
    c.batch.assign(xids.end() - static_cast<ptrdiff_t>(m), xids.end());
    std::rotate(c.batch.begin(), c.batch.begin() + 1, c.batch.end());
    xids.resize(n);
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (uint32_t xid : xids)
        order.emplace_back(xid + static_cast<uint32_t>(random() % 64), xid);
    std::sort(order.begin(), order.end());
    for (const auto &[place, xid] : order)
        c.unsorted.push_back(xid);
    c.sorted = xids;
    return c;
}

// XIDs from all of half the ring, in no order.
Commit uniform_commit(size_t n, size_t m, std::mt19937_64 &random)
{
    Commit c;
    std::vector<uint32_t> xids(n + m);
    do {
        for (uint32_t &xid : xids)
            xid = 3 + static_cast<uint32_t>(random() % (HALF - 3));
        std::sort(xids.begin(), xids.end());
    } while (std::adjacent_find(xids.begin(), xids.end()) != xids.end() && n < 1000);
    xids.erase(std::unique(xids.begin(), xids.end()), xids.end());
    std::shuffle(xids.begin(), xids.end(), random);
    c.batch.assign(xids.end() - static_cast<ptrdiff_t>(m), xids.end());
    xids.resize(xids.size() - m);
    c.unsorted = c.sorted = xids;
    std::sort(c.sorted.begin(), c.sorted.end());
    return c;
}

// ---- insert and snapshot ----

struct CommitWork {
    std::vector<uint32_t> xip, batch, snapshot;
    pgq_snapbuild_committed committed;
};

// A group's arrays and batches, and space for the snapshots.
class CommitGroup
{
  public:
    explicit CommitGroup(const bench::Pool<Commit> &from) : from(from), calls(from.sizes.group)
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

    // An untimed call fetches the code.
    template <typename Call> double time(Call call)
    {
        CommitWork few;
        few.xip = {3, 5, 0, 0};
        few.batch = {4, 6};
        few.snapshot.resize(4);
        few.committed = {few.xip.data(), 2, 4, true};
        call(few);
        return bench::time_group(calls.size(), [&](size_t i) { call(calls[i]); });
    }

  private:
    const bench::Pool<Commit> &from;
    std::vector<CommitWork> calls;
};

// A way to insert and to build the snapshot. Upstream's array is not sorted; ours are.
struct Path {
    std::string name;
    pgq_snapbuild_insert_fn insert; // null: the limit
    pgq_snapbuild_snapshot_fn snapshot;
    bool sorted;
};

std::vector<Path> paths()
{
    std::vector<Path> found;
    for (size_t v = 0; v < pgq_snapbuild_insert_variant_count; v++)
        found.push_back(
            {pgq_snapbuild_insert_variants[v].name, pgq_snapbuild_insert_variants[v].fn,
             pgq_snapbuild_snapshot_variants[v == 0 ? 0 : pgq_snapbuild_snapshot_variant_count - 1].fn,
             v > 0});
    Path again = found[0];
    again.name += "-again";
    found.push_back(again);
    found.push_back({"limit", nullptr, nullptr, true});
    return found;
}

void run_commit(CommitWork &work, const Path &path)
{
    bench::require_ok(path.insert(&work.committed, work.batch.data(), work.batch.size(), true));
    bench::require_ok(path.snapshot(&work.committed, work.snapshot.data(), work.snapshot.size()));
}

void copy_snapshot(CommitWork &work)
{
    std::memcpy(work.snapshot.data(), work.xip.data(), (work.committed.xcnt + work.batch.size()) * 4);
}

// No wrong kernel is timed: each way must build the sorted union of the array and the batch.
void require_right_snapshots(const std::string &name, const bench::Pool<Commit> &pool)
{
    for (size_t i = 0; i < pool.sizes.group; i++) {
        const Commit &input = pool.inputs[i];
        std::vector<uint32_t> expected = input.sorted;
        expected.insert(expected.end(), input.batch.begin(), input.batch.end());
        std::sort(expected.begin(), expected.end());
        for (const Path &path : paths()) {
            if (!path.insert)
                continue;
            CommitWork work{path.sorted ? input.sorted : input.unsorted,
                            input.batch,
                            std::vector<uint32_t>(expected.size()),
                            {}};
            size_t n = work.xip.size();
            work.xip.resize(expected.size());
            work.committed = {work.xip.data(), n, work.xip.size(), path.sorted};
            run_commit(work, path);
            if (work.snapshot != expected)
                bench::fail(name + ": variant " + path.name + " builds another snapshot");
        }
    }
}

void add_commits(size_t n, size_t m, bool near)
{
    std::string name = "snapbuild/kind=commit/n=" + std::to_string(n) + "/m=" + std::to_string(m) +
                       "/order=" + (near ? "near" : "uniform");
    size_t pool_max = n >= 100000 ? 16 : n >= 10000 ? 128 : n >= 1000 ? 512 : bench::POOL_MAX;
    bench::Sizes sizes = bench::sizes_of((3 * n + 4 * m) * 4, pool_max);
    std::vector<std::string> names;
    for (const Path &path : paths())
        names.push_back(path.name);
    bench::add(name, names, sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Commit>(name, sizes, [=](std::mt19937_64 &random) {
            return near ? near_commit(n, m, random) : uniform_commit(n, m, random);
        });
        require_right_snapshots(name, *pool);
        auto group = std::make_shared<CommitGroup>(*pool);
        return [pool, group, ways = paths()](size_t v, size_t g) {
            const Path &path = ways[v];
            group->fill(g, path.sorted);
            if (!path.insert)
                return group->time(copy_snapshot);
            return group->time([&](CommitWork &work) { run_commit(work, path); });
        };
    });
}

// ---- before CONSISTENT ----

void add_before(size_t m)
{
    constexpr size_t COMMITS = 1000;
    std::string name = "snapbuild/kind=before/m=" + std::to_string(m);
    auto variants = bench::supported<pgq_snapbuild_insert_fn>(pgq_snapbuild_insert_variants,
                                                              pgq_snapbuild_insert_variant_count, "append");
    if (m * COMMITS >= 20000) // it would take minutes
        std::erase_if(variants, [](const auto &variant) { return variant.name == "batch_merge"; });
    bench::add(name, bench::names_of(variants), 100, [=]() -> bench::Timer {
        std::mt19937_64 random(m);
        std::vector<uint32_t> source(COMMITS * m), batches, xip(COMMITS * m);
        for (uint32_t &xid : source)
            xid = std::max(static_cast<uint32_t>(random()), 3u);
        return [=](size_t v, size_t) mutable {
            batches = source;
            pgq_snapbuild_committed committed = {xip.data(), 0, xip.size(), true};
            return bench::time_group(COMMITS, [&, fn = variants[v].fn](size_t i) {
                bench::require_ok(fn(&committed, batches.data() + i * m, m, false));
            });
        };
    });
}

const bench::Registration inserts{[] {
    for (size_t n : {100, 1000, 10000, 100000})
        for (size_t m : {1, 8, 64})
            for (bool near : {true, false})
                add_commits(n, m, near);
    for (size_t m : {1, 4, 64})
        add_before(m);
}};
} // namespace
