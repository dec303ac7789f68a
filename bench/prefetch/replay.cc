// SPDX-License-Identifier: PostgreSQL
//
// How long does replay take for a block that it needs, look-ahead and use included?
//   cold        random blocks of a file that is not in the kernel's cache: posix_fadvise(DONTNEED) before each group
//   sequential  the same for blocks that follow each other
//   runs        the same for runs of so many blocks that follow each other, at random places
//   cached      random blocks of a file that is all in the kernel's cache
//   mixed       random blocks, of which the kernel has so many in a hundred cached
// The buffer pool holds few blocks, and none comes again while it is there: each block is read. The file is on the file system of
// build/. What lies below the kernel, such as the cache of a virtual machine's host, is not emptied.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

namespace
{
constexpr size_t PAGE = 8192, GROUPS = 8;

// ---- files: each page starts with its number ----

void fill(int fd, size_t blocks)
{
    std::vector<uint64_t> page(PAGE / sizeof(uint64_t));
    for (size_t block = 0; block < blocks; block++) {
        std::fill(page.begin(), page.end(), block * 0x9e3779b97f4a7c15u);
        page[0] = block;
        if (pwrite(fd, page.data(), PAGE, static_cast<off_t>(block * PAGE)) != static_cast<ssize_t>(PAGE))
            bench::fail(std::string("the file of blocks cannot be written: ") + std::strerror(errno));
    }
    if (fsync(fd) != 0)
        bench::fail("the file of blocks cannot be written to the device");
}

// A file of so many MiB, made once and kept in build/.
int file_of(size_t mib)
{
    std::string name = "build/bench/prefetch/blocks-" + std::to_string(mib) + "M";
    size_t bytes = mib * 1024 * 1024;
    int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat is;
    if (fd < 0 || fstat(fd, &is) != 0)
        bench::fail(name + ": " + std::strerror(errno));
    if (static_cast<size_t>(is.st_size) != bytes)
        fill(fd, bytes / PAGE);
    return fd;
}

void make_cold(int fd)
{
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        bench::fail("the kernel keeps the file in its cache");
}

void make_cached(int fd, size_t mib)
{
    std::vector<char> part(1024 * 1024);
    for (size_t i = 0; i < mib; i++)
        if (pread(fd, part.data(), part.size(), static_cast<off_t>(i * part.size())) <= 0)
            bench::fail("the file of blocks cannot be read");
}

// All these blocks are read at once; nothing but them.
void make_cached(int fd, const std::vector<pgq_prefetch_access> &accesses)
{
    std::vector<char> page(PAGE);
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    for (auto access : accesses)
        posix_fadvise(fd, static_cast<off_t>(access.block * PAGE), PAGE, POSIX_FADV_WILLNEED);
    for (auto access : accesses)
        if (pread(fd, page.data(), PAGE, static_cast<off_t>(access.block * PAGE)) !=
            static_cast<ssize_t>(PAGE))
            bench::fail("the file of blocks cannot be read");
    posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
}

// ---- jobs ----

using Accesses = std::vector<pgq_prefetch_access>;

// A run as long as a group is: a stretch of the file for each.
constexpr size_t STRETCH = 0;

// GROUPS groups of distinct blocks, in runs at random places of the file, or a stretch each. Where a group has too few, they
// come again in the same order: by then they have left the buffer pool.
std::vector<Accesses> groups_of(size_t mib, size_t count, size_t run)
{
    size_t length = run == STRETCH ? 1 : run;
    std::vector<uint32_t> runs(mib * 1024 * 1024 / PAGE / length);
    std::iota(runs.begin(), runs.end(), 0u);
    if (run != STRETCH)
        std::shuffle(runs.begin(), runs.end(), std::mt19937_64(mib));
    std::vector<Accesses> groups(GROUPS);
    size_t share = runs.size() / GROUPS;
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; i < count; i++)
            groups[g].push_back(
                {0, static_cast<uint32_t>(runs[g * share + i / length % share] * length + i % length)});
    return groups;
}

// Replay looks at each page, so that it has to be there.
struct Seen {
    const Accesses *accesses;
    uint64_t sum = 0;
};

void use(void *arg, uint32_t access, void *page)
{
    auto *seen = static_cast<Seen *>(arg);
    const auto *words = static_cast<const uint64_t *>(page);
    if (words[0] != (*seen->accesses)[access].block)
        bench::fail("replay was given another block");
    for (size_t i = 0; i < PAGE / sizeof(uint64_t); i += 64)
        seen->sum += words[i];
}

pgq_status replay(pgq_prefetch_replay_fn fn, int fd, const Accesses &accesses, uint32_t window)
{
    Seen seen{&accesses};
    pgq_prefetch_job job{};
    job.fds = &fd;
    job.file_count = 1;
    job.accesses = accesses.data();
    job.access_count = accesses.size();
    job.concurrency = window;
    job.buffers = window + 64;
    job.arg = &seen;
    job.use = use;
    pgq_status status = fn(&job);
    benchmark::DoNotOptimize(seen.sum);
    return status;
}

// The variants that this kernel and this file system can run.
std::vector<bench::Named<pgq_prefetch_replay_fn>> variants_that_run()
{
    auto found = bench::supported<pgq_prefetch_replay_fn>(pgq_prefetch_replay_variants,
                                                          pgq_prefetch_replay_variant_count, "sync");
    int fd = open(".", O_RDONLY | O_CLOEXEC);
    std::erase_if(found, [fd](const auto &variant) {
        pgq_code code = replay(variant.fn, fd, {}, 1).code;
        return code == PGQ_PREFETCH_URING;
    });
    close(fd);
    return found;
}

// ---- configurations ----

// How many accesses in a hundred are of blocks that the kernel has cached; FULL: it has the file.
constexpr size_t COLD = 0, FULL = 100;

// The part of the accesses that is cached: each by its own, so that they are mixed at random, and the same in each round.
Accesses share_of(const Accesses &accesses, size_t cached)
{
    std::mt19937_64 random(cached);
    Accesses found;
    for (auto access : accesses)
        if (random() % 100 < cached)
            found.push_back(access);
    return found;
}

void add_replay(const std::string &kind, size_t mib, uint32_t window, size_t count, size_t run, size_t cached)
{
    std::string share = kind == "mixed"  ? "/cached=" + std::to_string(cached)
                        : kind == "runs" ? "/run=" + std::to_string(run)
                                         : "";
    std::string name =
        "prefetch/kind=" + kind + share + "/mib=" + std::to_string(mib) + "/window=" + std::to_string(window);
    auto variants = variants_that_run();
    bench::add(name, bench::names_of(variants), GROUPS, [=]() -> bench::Timer {
        int fd = file_of(mib);
        auto groups = groups_of(mib, count, run);
        std::vector<Accesses> warm;
        for (const Accesses &accesses : groups)
            warm.push_back(share_of(accesses, cached));
        return [=](size_t v, size_t g) {
            double seconds = bench::time_each(
                1,
                [&](size_t) {
                    if (cached == FULL) {
                        make_cached(fd, mib);
                        return;
                    }
                    make_cold(fd);
                    make_cached(fd, warm[g]);
                },
                [&](size_t) { bench::require_ok(replay(variants[v].fn, fd, groups[g], window)); });
            return seconds / static_cast<double>(count);
        };
    });
}

const bench::Registration replays{[] {
    for (uint32_t window : {1, 4, 16, 64, 256}) {
        size_t count = window == 1 ? 256 : 1024;
        add_replay("cold", 256, window, count, 1, COLD);
        add_replay("sequential", 256, window, 1024, STRETCH, COLD);
        add_replay("cached", 16, window, 16384, 1, FULL);
        for (size_t cached : {10, 50, 90})
            add_replay("mixed", 256, window, count, 1, cached);
    }
    for (uint32_t window : {16, 64})
        for (size_t run : {4, 16})
            add_replay("runs", 256, window, 1024, run, COLD);
    add_replay("cold", 16, 16, 128, 1, COLD);
}};
} // namespace
