// SPDX-License-Identifier: PostgreSQL
//
// How long does the prefetcher take for a record, apart from the storage? Each has one block.
//   hit       all in the buffer pool: the questions are asked, and nothing is advised
//   cold      none in it: each is advised, which here costs nothing
//   repeat    the same block again and again
//   filtered  each 26th has a block, of a relation that one of the 1000 records before it creates; the others create one:
//             so some thousand filters stand at a time, and come and go with the records
// `upstream` keeps its filters as upstream does; the ring, the window and the questions are the same code. `questions` only
// asks the WAL and the storage, and keeps no books.
#include "harness.h"

namespace
{
constexpr size_t RECORDS = 8192, FILTERS = 1000, CREATIONS = FILTERS / 40; // 40: references looked at ahead
constexpr uint32_t CONCURRENCY = 10;

struct Wal {
    std::vector<pgq_prefetch_block> blocks;
    std::vector<pgq_prefetch_record> records;
    size_t read = 0;
    bool cached = false;
};

const pgq_prefetch_record *read_ahead(void *arg, size_t, bool)
{
    auto *wal = static_cast<Wal *>(arg);
    return wal->read == wal->records.size() ? nullptr : &wal->records[wal->read++];
}

int64_t blocks(void *, const pgq_prefetch_relation *)
{
    return int64_t{1} << 32;
}

int64_t buffer(void *arg, const pgq_prefetch_relation *, uint32_t block)
{
    return static_cast<Wal *>(arg)->cached ? block : -1;
}

constexpr bool is_filtered(const std::string &what)
{
    return what == "filtered";
}

Wal wal_of(const std::string &what)
{
    Wal wal;
    std::mt19937_64 random(1);
    wal.cached = what != "cold";
    wal.blocks.resize(RECORDS);
    wal.records.resize(RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        size_t creator = i - 1 - random() % std::max<size_t>(1, std::min(i, FILTERS));
        auto number = static_cast<uint32_t>(16384 + (is_filtered(what) ? creator : random() % 4));
        wal.blocks[i] = {
            {1663, 5, number}, what == "repeat" ? 7 : static_cast<uint32_t>(random()), 0, false, false, true};
        wal.records[i] = {100 + i, 101 + i, &wal.blocks[i], 1, PGQ_PREFETCH_EFFECT_NONE, {}, 0};
        if (is_filtered(what) && i % (CREATIONS + 1) != 0) {
            wal.records[i].block_count = 0;
            wal.records[i].effect = PGQ_PREFETCH_EFFECT_CREATE;
            wal.records[i].relation = {1663, 5, static_cast<uint32_t>(16384 + i)};
        }
    }
    return wal;
}

// The prefetcher and its arrays.
struct Prefetcher {
    std::vector<pgq_prefetch_entry> entries{4 * CONCURRENCY + 1};
    std::vector<const pgq_prefetch_record *> queue{RECORDS};
    std::vector<pgq_prefetch_filter> filters{2 * (FILTERS + 2 * CREATIONS)};
    pgq_prefetch prefetch{};

    explicit Prefetcher(pgq_prefetch_upstream *upstream)
    {
        prefetch.upstream = upstream;
        prefetch.entries = entries.data();
        prefetch.entry_space = entries.size();
        prefetch.queue = queue.data();
        prefetch.queue_space = queue.size();
        prefetch.filters = filters.data();
        prefetch.filter_space = filters.size();
    }
};

uint64_t replay(Prefetcher &p, const pgq_prefetch_world &world)
{
    const pgq_prefetch_record *record;
    uint64_t sum = 0;
    for (;;) {
        bench::require_ok(pgq_prefetch_read(&p.prefetch, &world, &record));
        if (record == nullptr)
            return sum;
        sum += record->lsn;
    }
}

uint64_t only_ask(const pgq_prefetch_world &world)
{
    uint64_t sum = 0;
    while (const pgq_prefetch_record *record = world.read_ahead(world.arg, 0, false))
        for (uint32_t i = 0; i < record->block_count; i++)
            sum += static_cast<uint64_t>(world.blocks(world.arg, &record->blocks[i].relation)) +
                   static_cast<uint64_t>(
                       world.buffer(world.arg, &record->blocks[i].relation, record->blocks[i].block));
    return sum;
}

void add_bookkeeping(const std::string &what)
{
    bench::add("prefetch/kind=bookkeeping/what=" + what,
               {"questions", "upstream", "prefetcher", "prefetcher-again"}, 16, [=]() -> bench::Timer {
                   auto wal = std::make_shared<Wal>(wal_of(what));
                   std::shared_ptr<pgq_prefetch_upstream> table(pgq_prefetch_upstream_make(),
                                                                pgq_prefetch_upstream_free);
                   if (!table)
                       bench::fail("no memory for upstream's table of filters");
                   auto upstream = std::make_shared<Prefetcher>(table.get());
                   auto ours = std::make_shared<Prefetcher>(nullptr);
                   return [=, kept = table](size_t v, size_t) {
                       pgq_prefetch_world world{wal.get(), read_ahead, blocks, buffer, nullptr};
                       Prefetcher &prefetcher = v == 1 ? *upstream : *ours;
                       uint64_t sum = 0;
                       double seconds = bench::time_each(
                           1,
                           [&](size_t) {
                               wal->read = 0;
                               bench::require_ok(pgq_prefetch_begin(&prefetcher.prefetch, CONCURRENCY, 100));
                           },
                           [&](size_t) { sum = v == 0 ? only_ask(world) : replay(prefetcher, world); });
                       benchmark::DoNotOptimize(sum);
                       return seconds / RECORDS;
                   };
               });
}

const bench::Registration books{[] {
    for (const char *what : {"hit", "cold", "repeat", "filtered"})
        add_bookkeeping(what);
}};
} // namespace
