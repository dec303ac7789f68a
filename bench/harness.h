// SPDX-License-Identifier: PostgreSQL
//
// The one harness of all benchmarks: ticks, rounds, pools of inputs. harness.cc has main().
//
// A configuration is a kind of call on inputs of one shape; its variants are measured side by side. Its inputs form groups.
// A *round* is one pass over the groups in which the variants take turns, one group at a time, in random order: what slows
// the machine down for a while slows all variants, and no variant always follows the same other one. Two variants never
// work on the same group at the same turn, because the second one would find the branches learned. A variant's time in a
// round is the median over the groups. Times of the same round are paired: a speed-up is the median of their ratios.
// One variant of each configuration stands there twice, under a second name ("-again"): the A/A row, the noise floor.
//
// Regimes:
//   L2    the group is copied, untimed, into a work area of 512 KiB; its calls are timed together (time_group).
//   L1    each input is copied, untimed, and its call is timed alone (time_each).
//   cold  the inputs are written past the cache, untimed; each is used once (time_group).
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <x86intrin.h>

extern "C" {
#include "pgquern.h"
}

namespace bench
{
// Ends the program with exit status 1.
[[noreturn]] void fail(const std::string &message);

// Ends the program if a kernel has refused a sound input.
inline void require_ok(pgq_status status)
{
    if (status.code != PGQ_OK)
        fail(std::string("a kernel refused a sound input: ") + pgq_strerror(status.code));
}

// ---- the time stamp counter, for calls too short for the system's clock; x86-64 with an invariant counter ----

// Fenced on both sides: everything before it has ended, and nothing after it has begun.
inline uint64_t ticks()
{
    unsigned aux;
    _mm_lfence();
    uint64_t now = __rdtscp(&aux);
    _mm_lfence();
    return now;
}

// The usual step of the counter: 1; on some virtual machines some ten nanoseconds.
uint64_t tick_step();

double seconds_per_tick();

// Seconds of one call. A time that is less than the counter's step counts as one step.
inline double seconds_a_call(uint64_t spent, uint64_t reading_the_clock, size_t count)
{
    uint64_t taken = std::max(spent - std::min(spent, reading_the_clock), tick_step());
    return static_cast<double>(taken) * seconds_per_tick() / static_cast<double>(count);
}

// Seconds of one call: call(0) to call(count - 1) are timed together. The cost of reading the clock is subtracted.
template <typename Call> double time_group(size_t count, Call call)
{
    benchmark::ClobberMemory();
    uint64_t start = ticks();
    uint64_t empty = ticks();
    for (size_t i = 0; i < count; i++)
        call(i);
    benchmark::ClobberMemory();
    return seconds_a_call(ticks() - empty, empty - start, count);
}

// Seconds of one call: each call(i) is timed alone, after prepare(i), which is not timed.
template <typename Prepare, typename Call> double time_each(size_t count, Prepare prepare, Call call)
{
    uint64_t spent = 0, clock = 0;
    for (size_t i = 0; i < count; i++) {
        prepare(i);
        benchmark::ClobberMemory();
        uint64_t start = ticks();
        uint64_t empty = ticks();
        call(i);
        benchmark::ClobberMemory();
        spent += ticks() - empty;
        clock += empty - start;
    }
    return seconds_a_call(spent, clock, count);
}

// ---- configurations ----

// Seconds of one call of variant number v, on the inputs of group number g.
using Timer = std::function<double(size_t v, size_t g)>;

// A kernel under its name in a configuration; fn is null for what is no kernel, such as the limit.
template <typename Fn> struct Named {
    std::string name;
    Fn fn;
};

// The rows of a table of variants that this CPU supports, and the row `again` a second time, as the A/A row.
template <typename Fn, typename Variant>
std::vector<Named<Fn>> supported(const Variant *table, size_t count, const std::string &again)
{
    std::vector<Named<Fn>> found;
    for (size_t v = 0; v < count; v++)
        if (table[v].supported())
            found.push_back({table[v].name, table[v].fn});
    for (size_t v = 0; v < count; v++)
        if (table[v].name == again)
            found.push_back({again + "-again", table[v].fn});
    return found;
}

template <typename Fn> std::vector<std::string> names_of(const std::vector<Named<Fn>> &variants)
{
    std::vector<std::string> names;
    for (const Named<Fn> &variant : variants)
        names.push_back(variant.name);
    return names;
}

// Registers a configuration, named "stem/key=value/..."; `timer` is called at the start of each of its rounds.
void add(const std::string &name, const std::vector<std::string> &variants, size_t groups,
         const std::function<Timer()> &timer);

// A namespace-scope object of this type has its function called by main(): it adds a kind's configurations.
struct Registration {
    explicit Registration(void (*add_all)());
};

// A namespace-scope object of this type: main() does not pin the program to one CPU, since its configurations have threads.
struct UsesAllCpus {
    UsesAllCpus();
};

// ---- inputs ----

constexpr size_t WORK_BYTES = 512 * 1024;       // of a group
constexpr size_t POOL_BYTES = 64 * 1024 * 1024; // of a pool: too much for the branch predictor to learn
constexpr size_t POOL_MAX = 4096;               // inputs of a pool

struct Sizes {
    size_t pool, group; // inputs; a pool is a whole number of groups

    size_t groups() const
    {
        return pool / group;
    }
};

// How many inputs of `bytes` a pool and a group have.
inline Sizes sizes_of(size_t bytes, size_t pool_max = POOL_MAX)
{
    size_t group = std::clamp<size_t>(WORK_BYTES / bytes, 1, 256);
    size_t pool = std::clamp<size_t>(POOL_BYTES / bytes, 16, pool_max);
    group = std::min(group, pool);
    return {pool / group * group, group};
}

// Inputs that make() makes; kept until inputs of the same type are asked for under another name.
template <typename Inputs, typename Make>
std::shared_ptr<const Inputs> kept(const std::string &name, Make make)
{
    static std::string whose;
    static std::shared_ptr<const Inputs> last;
    if (!last || whose != name) {
        last.reset();
        last = std::make_shared<const Inputs>(make());
        whose = name;
    }
    return last;
}

template <typename Input> struct Pool {
    Sizes sizes;
    std::vector<Input> inputs;
};

// The pool of the configuration `name`: each input is made by make(random).
template <typename Input, typename Make>
std::shared_ptr<const Pool<Input>> pool_of(const std::string &name, Sizes sizes, Make make)
{
    return kept<Pool<Input>>(name, [&] {
        std::mt19937_64 random(std::hash<std::string>{}(name));
        Pool<Input> pool{sizes, {}};
        for (size_t i = 0; i < sizes.pool; i++)
            pool.inputs.push_back(make(random));
        return pool;
    });
}

// Memory for `count` elements, aligned to 4096 bytes, not initialised.
struct FreeDelete {
    void operator()(void *p) const
    {
        std::free(p);
    }
};
template <typename T> using Memory = std::unique_ptr<T[], FreeDelete>;

template <typename T> Memory<T> aligned(size_t count)
{
    return Memory<T>(static_cast<T *>(std::aligned_alloc(4096, (count * sizeof(T) + 4095) / 4096 * 4096)));
}
} // namespace bench
