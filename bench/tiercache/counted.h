// SPDX-License-Identifier: PostgreSQL
//
// Figures that are counted, not timed: they are the same in each round, so a process counts them in its first one.
#pragma once

#include "harness.h"

namespace tiercache
{
// A configuration; count() gives the figure of each variant. The harness calls them nanoseconds.
inline void add_counted(const std::string &name, const std::vector<std::string> &variants,
                        const std::function<std::vector<double>()> &count)
{
    auto counted = std::make_shared<std::vector<double>>();
    bench::add(name, variants, 1, [=]() -> bench::Timer {
        if (counted->empty())
            *counted = count();
        return [=](size_t v, size_t) { return (*counted)[v] * 1e-9; };
    });
}
} // namespace tiercache
