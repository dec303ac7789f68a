// SPDX-License-Identifier: PostgreSQL
//
// Classes of I/O on a real file, each by a thread, for so many seconds, through the engine of csrc/ioshares.
//
//     mix key=value ... > records
//
//   file=PATH pages=N   a file, or a block device, of N pages of 8192; the first 8 bytes of a page are its number
//   scheduler=NAME      a variant of ioshares; or `none`: up to 1024 requests go to the kernel as they come
//   way=uring|threads   how the engine reads and writes; without it: any
//   limit=N             so many requests in flight, and the limit stays; without it, it follows the latency, and
//   target=NS           this is the mean latency above which it falls
//   start=NS ms=N       of CLOCK_MONOTONIC, and for so long
//   seed=N              of the arrivals and of the pages
//   ioprio=N cgroup=F   for ioprio_set(2), and the file to which the process writes its number, before it starts
//   CLASS=LOAD          CLASS is the number of a class. LOAD is
//     arrivals:RATE          reads that come at random times, RATE a second, whatever the device does
//     backlog:N:WRITES       N requests submitted at all times; of ten, so many write
//     bursts:N:NS            N writes at once, every so many ns
//
// Writes a line of JSON, and then for each request that ended in time a Record. A read whose page has another number, an I/O
// error or a refusal ends the program with exit status 1.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
#include "pgquern.h"
}

namespace
{
constexpr uint32_t PAGE = 8192, UNLIMITED = 1024, ARRIVALS = 4096;
constexpr uint64_t SECOND = 1000000000;
// backend, checkpointer, autovacuum, writeback; a burst of the backends may run ahead by 128 requests.
constexpr pgq_ioshares_class CLASSES[] = {
    {500, 1 << 20, 1 << 16}, {200, 0, 1 << 16}, {200, 0, 1 << 16}, {100, 0, 1 << 16}};
constexpr uint32_t CLASS_COUNT = sizeof CLASSES / sizeof CLASSES[0];

[[noreturn]] void fail(const std::string &message)
{
    std::fprintf(stderr, "mix: %s\n", message.c_str());
    std::_Exit(1);
}

void require(bool holds, const std::string &what)
{
    if (!holds)
        fail(what + ": " + std::strerror(errno));
}

void require_ok(pgq_status status)
{
    if (status.code != PGQ_OK)
        fail(pgq_strerror(status.code));
}

using Arguments = std::map<std::string, std::string>;

uint64_t number(const Arguments &given, const std::string &key, uint64_t otherwise)
{
    auto found = given.find(key);
    if (found == given.end())
        return otherwise;
    char *end;
    uint64_t value = std::strtoull(found->second.c_str(), &end, 10);
    if (found->second.empty() || *end != '\0')
        fail(key + "=" + found->second + " is no number");
    return value;
}

std::vector<std::string> parts_of(const std::string &text)
{
    std::vector<std::string> parts(1);
    for (char c : text)
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    return parts;
}

uint64_t now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * SECOND + static_cast<uint64_t>(t.tv_nsec);
}

void sleep_until(uint64_t when)
{
    timespec t = {static_cast<time_t>(when / SECOND), static_cast<long>(when % SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR)
        ;
}

// What the process is to the kernel's own schedulers.
void take_place(const Arguments &given)
{
    constexpr int THIS_PROCESS = 1; // IOPRIO_WHO_PROCESS
    if (given.contains("ioprio"))
        require(syscall(SYS_ioprio_set, THIS_PROCESS, 0, number(given, "ioprio", 0)) == 0, "ioprio_set");
    if (auto found = given.find("cgroup"); found != given.end()) {
        std::FILE *file = std::fopen(found->second.c_str(), "w");
        require(file != nullptr && std::fprintf(file, "%d\n", getpid()) > 0 && std::fclose(file) == 0,
                found->second);
    }
}

struct File {
    int fd;
    bool direct;
    uint64_t pages;
};

File open_file(const Arguments &given)
{
    const std::string &path = given.at("file");
    int fd = open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    bool direct = fd >= 0;
    if (!direct && errno == EINVAL)
        fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    require(fd >= 0, path);
    uint64_t pages = number(given, "pages", 0);
    if (pages == 0)
        fail("pages=0");
    return {fd, direct, pages};
}

// The engine, and the scheduler below it.
class Engine
{
  public:
    explicit Engine(const Arguments &given)
    {
        std::string name = given.at("scheduler");
        bool bare = name == "none";
        auto limit = static_cast<uint32_t>(number(given, "limit", bare ? UNLIMITED : 0));
        pgq_ioshares_limits limits = {1, 8, 64, 64, number(given, "target", 100000)};
        if (limit != 0)
            limits.least = limits.start = limits.most = limit;
        pgq_ioshares_config config = {CLASSES, CLASS_COUNT, limits, nullptr, 0, {0, 0}};
        size_t bytes;
        require_ok(pgq_ioshares_bytes(&config, &bytes));
        memory = std::make_unique<uint64_t[]>(bytes / sizeof(uint64_t) + 1);
        pgq_ioshares *scheduler;
        require_ok(variant(bare ? "fifo" : name)(memory.get(), bytes, &config, &scheduler));
        require_ok(pgq_ioshares_engine_start(scheduler, way_of(given), nullptr, &engine));
    }
    Engine(const Engine &) = delete;

    const char *way() const
    {
        return pgq_ioshares_engine_way(engine) == PGQ_IOSHARES_BY_URING ? "io_uring" : "threads";
    }
    void submit(pgq_ioshares_io &io)
    {
        require_ok(pgq_ioshares_engine_submit(engine, &io));
    }
    void wait(pgq_ioshares_io &io)
    {
        require_ok(pgq_ioshares_engine_wait(engine, &io));
    }
    void stop()
    {
        require_ok(pgq_ioshares_engine_stop(engine));
    }

  private:
    static pgq_ioshares_fn variant(const std::string &name)
    {
        for (size_t i = 0; i < pgq_ioshares_variant_count; i++)
            if (pgq_ioshares_variants[i].name == name)
                return pgq_ioshares_variants[i].fn;
        fail("there is no scheduler " + name);
    }
    static pgq_ioshares_way way_of(const Arguments &given)
    {
        auto found = given.find("way");
        if (found == given.end())
            return PGQ_IOSHARES_BY_ANY;
        if (found->second != "uring" && found->second != "threads")
            fail("there is no way " + found->second + ": uring or threads");
        return found->second == "uring" ? PGQ_IOSHARES_BY_URING : PGQ_IOSHARES_BY_THREADS;
    }

    std::unique_ptr<uint64_t[]> memory;
    pgq_ioshares_engine *engine = nullptr;
};

// A request that has ended. at: since the start. latency: since it was due. Both in ns.
struct Record {
    uint64_t at, latency;
    uint32_t cls, write;
};

struct Slot {
    pgq_ioshares_io io{};
    uint64_t due = 0, page = 0;
    bool busy = false;
};

// One class at work.
class Load
{
  public:
    Load(Engine &engine, const File &file, uint32_t cls, const std::string &load, uint64_t start,
         uint64_t end, uint64_t seed)
        : engine(engine), file(file), cls(cls), start(start), end(end), random(seed * CLASS_COUNT + cls),
          parts(parts_of(load))
    {
        bool known = (parts.size() == 2 && parts[0] == "arrivals") ||
                     (parts.size() == 3 && (parts[0] == "backlog" || parts[0] == "bursts"));
        if (!known || part(1) == 0)
            fail("there is no load " + load);
        size_t count = parts[0] == "arrivals" ? ARRIVALS : part(1);
        slots.resize(count);
        buffers.reset(static_cast<char *>(std::aligned_alloc(PAGE, count * PAGE)));
        if (buffers == nullptr)
            fail("no memory");
        std::memset(buffers.get(), 0, count * PAGE);
    }

    void run()
    {
        prctl(PR_SET_TIMERSLACK, 1UL);
        sleep_until(start);
        if (parts[0] == "arrivals")
            arrivals(static_cast<double>(part(1)) / SECOND);
        else if (parts[0] == "backlog")
            backlog(part(2));
        else
            bursts(part(2));
        for (Slot &slot : slots)
            collect(slot);
    }

    std::vector<Record> records;

  private:
    uint64_t part(size_t i) const
    {
        return number({{parts[0], parts[i]}}, parts[0], 0);
    }

    void submit(Slot &slot, bool write, uint64_t due)
    {
        collect(slot);
        char *buffer = &buffers[static_cast<size_t>(&slot - slots.data()) * PAGE];
        slot.page = random() % file.pages;
        slot.due = due;
        slot.busy = true;
        if (write)
            std::memcpy(buffer, &slot.page, sizeof slot.page);
        slot.io = pgq_ioshares_io{};
        slot.io.buffer = buffer;
        slot.io.offset = slot.page * PAGE;
        slot.io.size = PAGE;
        slot.io.cls = cls;
        slot.io.fd = file.fd;
        slot.io.write = write;
        engine.submit(slot.io);
    }

    // Waits for what the slot had under way, and looks at it.
    void collect(Slot &slot)
    {
        if (!slot.busy)
            return;
        engine.wait(slot.io);
        slot.busy = false;
        if (slot.io.error != 0)
            fail(std::string("an I/O error: ") + std::strerror(slot.io.error));
        uint64_t found;
        std::memcpy(&found, slot.io.buffer, sizeof found);
        if (found != slot.page)
            fail("page " + std::to_string(slot.page) + " has the number " + std::to_string(found));
        if (slot.io.ended <= end)
            records.push_back({slot.io.ended - start, slot.io.ended - slot.due, cls, slot.io.write});
    }

    void arrivals(double a_ns)
    {
        std::exponential_distribution<double> wait(a_ns);
        double due = static_cast<double>(start);
        for (size_t i = 0; (due += wait(random)) < static_cast<double>(end); i++) {
            sleep_until(static_cast<uint64_t>(due));
            submit(slots[i % slots.size()], false, static_cast<uint64_t>(due));
        }
    }

    void backlog(uint64_t writes)
    {
        for (size_t i = 0; now() < end; i++) {
            collect(slots[i % slots.size()]);
            submit(slots[i % slots.size()], i % 10 < writes, now());
        }
    }

    void bursts(uint64_t every)
    {
        for (uint64_t due = start + every; due < end; due += every) {
            sleep_until(due);
            for (Slot &slot : slots)
                submit(slot, true, due);
        }
    }

    struct Free {
        void operator()(char *p) const
        {
            std::free(p);
        }
    };

    Engine &engine;
    const File &file;
    uint32_t cls;
    uint64_t start, end;
    std::mt19937_64 random;
    std::vector<std::string> parts;
    std::vector<Slot> slots;
    std::unique_ptr<char[], Free> buffers;
};

std::vector<std::unique_ptr<Load>> loads_of(const Arguments &given, Engine &engine, const File &file)
{
    uint64_t start = number(given, "start", now()), end = start + number(given, "ms", 1000) * (SECOND / 1000);
    std::vector<std::unique_ptr<Load>> loads;
    for (uint32_t cls = 0; cls < CLASS_COUNT; cls++)
        if (auto found = given.find(std::to_string(cls)); found != given.end())
            loads.push_back(std::make_unique<Load>(engine, file, cls, found->second, start, end,
                                                   number(given, "seed", 1)));
    if (loads.empty())
        fail("no class has a load");
    return loads;
}
} // namespace

int main(int argc, char **argv)
{
    Arguments given;
    for (int i = 1; i < argc; i++) {
        std::string argument = argv[i];
        given[argument.substr(0, argument.find('='))] = argument.substr(argument.find('=') + 1);
    }
    if (!given.contains("file") || !given.contains("scheduler"))
        fail("file= and scheduler= are needed");
    take_place(given);
    File file = open_file(given);
    Engine engine(given);
    auto loads = loads_of(given, engine, file);
    std::vector<std::thread> threads;
    for (auto &load : loads)
        threads.emplace_back([&load] { load->run(); });
    for (std::thread &thread : threads)
        thread.join();
    std::printf("{\"way\": \"%s\", \"direct\": %s}\n", engine.way(), file.direct ? "true" : "false");
    for (auto &load : loads)
        if (std::fwrite(load->records.data(), sizeof(Record), load->records.size(), stdout) !=
            load->records.size())
            fail("the records cannot be written");
    engine.stop();
    return std::fflush(stdout) == 0 ? 0 : 1;
}
