// SPDX-License-Identifier: PostgreSQL
// The time stamp counter, for calls too short for the system's clock. x86-64 with an invariant counter.
#pragma once

#include <algorithm>
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

// The counter goes up by this much at least: 1, but on some virtual machines some ten nanoseconds.
inline uint64_t tick_step()
{
    static const uint64_t value = [] {
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < 1000; i++) {
            uint64_t start = __rdtsc(), now;
            while ((now = __rdtsc()) == start)
                ;
            least = std::min(least, now - start);
        }
        return least;
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
