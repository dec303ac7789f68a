// SPDX-License-Identifier: PostgreSQL
#include "harness.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <numeric>
#include <sched.h>

namespace bench
{
void fail(const std::string &message)
{
    std::fprintf(stderr, "bench: %s\n", message.c_str());
    std::exit(1);
}

uint64_t tick_step()
{
    static const uint64_t value = [] {
        std::array<uint64_t, 1001> steps;
        for (uint64_t &step : steps) {
            uint64_t start = __rdtsc(), now;
            while ((now = __rdtsc()) == start)
                ;
            step = now - start;
        }
        std::nth_element(steps.begin(), steps.begin() + steps.size() / 2, steps.end());
        return steps[steps.size() / 2];
    }();
    return value;
}

double seconds_per_tick()
{
    using Clock = std::chrono::steady_clock;
    static const double value = [] {
        auto start = Clock::now();
        uint64_t first = ticks();
        while (Clock::now() - start < std::chrono::milliseconds(50))
            ;
        return std::chrono::duration<double>(Clock::now() - start).count() /
               static_cast<double>(ticks() - first);
    }();
    return value;
}

namespace
{
// The rounds of a configuration, as harness.h says. Google Benchmark asks for one variant's time after the other; a round is
// run when one is asked for that has not been measured yet.
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

std::vector<void (*)()> &registered()
{
    static std::vector<void (*)()> functions;
    return functions;
}

bool &uses_all_cpus()
{
    static bool value = false;
    return value;
}

// To the last CPU that this process may use: the first one mostly serves the interrupts. Returns its number.
int pin_to_one_cpu()
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail("sched_getaffinity failed");
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &allowed))
        last--;
    CPU_ZERO(&allowed);
    CPU_SET(last, &allowed);
    if (sched_setaffinity(0, sizeof allowed, &allowed) != 0)
        fail("sched_setaffinity failed");
    return last;
}
} // namespace

void add(const std::string &name, const std::vector<std::string> &variants, size_t groups,
         const std::function<Timer()> &timer)
{
    auto rounds = std::make_shared<Rounds>(variants.size(), groups, timer);
    for (size_t v = 0; v < variants.size(); v++)
        benchmark::RegisterBenchmark((name + "/variant=" + variants[v]).c_str(),
                                     [=](benchmark::State &state) {
                                         for (auto _ : state)
                                             state.SetIterationTime(rounds->next(v));
                                     })
            ->Iterations(1)
            ->UseManualTime()
            ->Unit(benchmark::kNanosecond);
}

Registration::Registration(void (*add_all)())
{
    registered().push_back(add_all);
}

UsesAllCpus::UsesAllCpus()
{
    uses_all_cpus() = true;
}
} // namespace bench

int main(int argc, char **argv)
{
    if (!bench::uses_all_cpus())
        benchmark::AddCustomContext("pinned_to_cpu", std::to_string(bench::pin_to_one_cpu()));
    for (auto *add_all : bench::registered())
        add_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
