// SPDX-License-Identifier: PostgreSQL
// The time stamp counter, for calls too short for the system's clock. x86-64 with an invariant counter.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <x86intrin.h>

// Fenced on both sides: nothing before it is still under way, nothing after it has begun.
inline uint64_t ticks()
{
    unsigned aux;
    _mm_lfence();
    uint64_t now = __rdtscp(&aux);
    _mm_lfence();
    return now;
}

// By how much the counter mostly goes up: 1, but on some virtual machines some ten nanoseconds.
inline uint64_t tick_step()
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

inline double seconds_per_tick()
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
