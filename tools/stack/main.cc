// SPDX-License-Identifier: PostgreSQL
//
// One run of the stack, and its figures as JSON. Readers and writers work without a pause, while a checkpointer makes one
// checkpoint after the other. Pages are chosen by a Zipf law over a shuffled order. A writer's transaction reads a page,
// changes 100 bytes of it, and 100 bytes of the page at which a history grows, and commits.
//
//     stack PARTS PROTECTION FOLDER SECONDS THREADS
//
// PARTS: words of rangelock, ioshares, tiercache, with commas, or "none"; or "kernel": none, over the kernel's page cache. FOLDER: for the files; "volume": a simulated one.
#include "database.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

namespace
{
using namespace stack;
using Clock = std::chrono::steady_clock;

constexpr uint32_t PAGES = 8192, HISTORY = 512, FRAMES = 2048, SLOTS = 2048;
constexpr int WRITES_IN_PERCENT = 20;
constexpr double SKEW = 0.9, WARM_UP = 0.5;
constexpr auto PAUSE = std::chrono::milliseconds(100); // between checkpoints

struct Choice {
    std::vector<double> sums;
    std::vector<uint32_t> order;

    Choice() : sums(PAGES - HISTORY), order(PAGES - HISTORY)
    {
        double sum = 0;
        for (size_t i = 0; i < sums.size(); i++)
            sums[i] = sum += std::pow(static_cast<double>(i + 1), -SKEW);
        std::iota(order.begin(), order.end(), HISTORY);
        std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    }
    uint32_t operator()(std::mt19937_64 &random) const
    {
        double at = static_cast<double>(random() >> 11) * 0x1p-53 * sums.back();
        return order[static_cast<size_t>(std::lower_bound(sums.begin(), sums.end(), at) - sums.begin())];
    }
};

struct Run {
    Database &database;
    const Choice &choice;
    Clock::time_point measured, end;
    std::atomic<uint32_t> history{0}; // entries of 100 bytes
    std::atomic<bool> stopping{false};

    struct Seen {
        std::vector<double> reads, commits; // microseconds
    };

    void commit(uint32_t page, std::mt19937_64 &random)
    {
        constexpr uint32_t SIZE = 100, A_PAGE = (PAGE - 24) / SIZE;
        uint8_t bytes[SIZE];
        uint32_t entry = history++ % (HISTORY * A_PAGE);

        std::generate(bytes, bytes + SIZE, [&] { return static_cast<uint8_t>(random()); });
        Database::Change changes[] = {
            {page, 24 + static_cast<uint32_t>(random() % (PAGE - 24 - SIZE)), SIZE, bytes},
            {entry / A_PAGE, 24 + entry % A_PAGE * SIZE, SIZE, bytes}};
        database.commit(changes, 2);
    }

    void foreground(uint64_t seed, Seen *seen)
    {
        std::mt19937_64 random(seed);
        std::vector<uint8_t> contents(PAGE);
        for (;;) {
            bool writes = static_cast<int>(random() % 100) < WRITES_IN_PERCENT;
            uint32_t page = choice(random);
            auto start = Clock::now();
            if (start >= end)
                return;
            database.read(page, contents.data());
            if (writes)
                commit(page, random);
            std::chrono::duration<double, std::micro> took = Clock::now() - start;
            if (start >= measured)
                (writes ? seen->commits : seen->reads).push_back(took.count());
        }
    }

    void checkpoints(std::vector<double> *took)
    {
        my_class = BACKGROUND;
        while (!stopping) {
            auto start = Clock::now();
            database.checkpoint();
            if (start >= measured && Clock::now() < end)
                took->push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
            std::this_thread::sleep_for(PAUSE);
        }
    }
};

void print_latencies(const char *name, std::vector<double> all)
{
    std::sort(all.begin(), all.end());
    auto quantile = [&](double q) {
        return all.empty()
                   ? 0
                   : all[std::min(all.size() - 1, static_cast<size_t>(q * static_cast<double>(all.size())))];
    };
    std::printf("\"%s\": {\"n\": %zu, \"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f},\n", name, all.size(),
                quantile(0.5), quantile(0.99), quantile(0.999));
}

struct Snapshot {
    uint64_t numbers[FILES][5];

    explicit Snapshot(const Device &device)
    {
        for (int f = 0; f < FILES; f++) {
            const Counts &c = device.counts[f];
            const uint64_t now[5] = {c.reads, c.writes, c.syncs, c.bytes_read, c.bytes_written};
            std::copy(now, now + 5, numbers[f]);
        }
    }
};

void print_counts(const Snapshot &before, const Snapshot &after)
{
    for (int f = 0; f < FILES; f++) {
        std::printf("\"%s\": {", FILE_NAMES[f]);
        const char *names[5] = {"reads", "writes", "syncs", "bytes_read", "bytes_written"};
        for (int i = 0; i < 5; i++)
            std::printf("%s\"%s\": %llu", i > 0 ? ", " : "", names[i],
                        static_cast<unsigned long long>(after.numbers[f][i] - before.numbers[f][i]));
        std::printf("},\n");
    }
}

Parts parts_of(const char *words, const char *protection)
{
    const char *names[] = {"none", "images", "double write", "atomic"};
    const int values[] = {PGQ_TORNPAGE_NONE, PGQ_TORNPAGE_IMAGES, PGQ_TORNPAGE_DOUBLE_WRITE,
                          PGQ_TORNPAGE_ATOMIC};
    Parts parts = {};
    parts.rangelock = std::strstr(words, "rangelock") != nullptr;
    parts.ioshares = std::strstr(words, "ioshares") != nullptr;
    parts.tiercache = std::strstr(words, "tiercache") != nullptr;
    parts.kernel = std::strcmp(words, "kernel") == 0;
    for (int i = 0; i < 4; i++)
        if (std::strcmp(names[i], protection) == 0) {
            parts.protection = values[i];
            return parts;
        }
    std::fprintf(stderr, "stack: %s is no protection\n", protection);
    std::exit(2);
}

void measure(Device &device, Database &database, double seconds, int threads)
{
    Choice choice;
    auto start = Clock::now();
    auto after = [&](double s) {
        return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
    };
    Run run{database, choice, after(WARM_UP), after(WARM_UP + seconds)};
    std::vector<Run::Seen> seen(static_cast<size_t>(threads));
    std::vector<std::thread> working;
    std::vector<double> checkpoints;
    std::thread checkpointer([&] { run.checkpoints(&checkpoints); });
    for (size_t i = 0; i < seen.size(); i++)
        working.emplace_back([&, i] { run.foreground(i + 1, &seen[i]); });
    std::this_thread::sleep_until(run.measured);
    Snapshot before(device);
    std::this_thread::sleep_until(run.end);
    Snapshot then(device);
    for (std::thread &thread : working)
        thread.join();
    run.stopping = true;
    checkpointer.join();

    Run::Seen all;
    for (const Run::Seen &one : seen) {
        all.reads.insert(all.reads.end(), one.reads.begin(), one.reads.end());
        all.commits.insert(all.commits.end(), one.commits.begin(), one.commits.end());
    }
    std::printf("\"seconds\": %.3f,\n\"checkpoints\": %zu,\n\"checkpoint_ms\": %.1f,\n", seconds,
                checkpoints.size(),
                checkpoints.empty() ? 0
                                    : std::accumulate(checkpoints.begin(), checkpoints.end(), 0.0) /
                                          static_cast<double>(checkpoints.size()));
    print_latencies("reads", all.reads);
    print_latencies("commits", all.commits);
    print_counts(before, then);
}
} // namespace

int main(int argc, char **argv)
{
    if (argc != 6) {
        std::fprintf(stderr, "usage: stack PARTS PROTECTION FOLDER SECONDS THREADS\n");
        return 2;
    }
    Parts parts = parts_of(argv[1], argv[2]);
    bool simulated = std::strcmp(argv[3], "volume") == 0;
    // Behind the last page tiercache has three of its own; the engine of ioshares reads nothing behind the end of a file.
    Device device(simulated ? "" : argv[3], uint64_t{PAGES + PGQ_TIERCACHE_TRAILERS} * PAGE, parts.kernel);
    Io io(device, parts);
    std::unique_ptr<PageCache> cache;
    if (parts.kernel)
        cache = std::make_unique<KernelCache>(device);
    else if (parts.tiercache)
        cache = std::make_unique<TierCache>(io, PAGES, FRAMES, SLOTS);
    else
        cache = std::make_unique<PlainCache>(io, FRAMES);
    Database database(device, io, *cache, parts, PAGES);
    device.simulated = simulated;
    std::printf("{\n");
    measure(device, database, std::atof(argv[4]), std::atoi(argv[5]));
    device.simulated = false;
    bool same = database.recovers();
    std::printf("\"recovers\": %s\n}\n", same ? "true" : "false");
    return same ? 0 : 1;
}
