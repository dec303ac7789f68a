// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to find the oldest of n ids? ring: the wrap lies ahead (young) or among the values (wrapped). invalid:
// percent of values that are 0, as those of indexes are. inputs.h describes the yardstick `limit`.
#include "inputs.h"

namespace
{
using Array = std::vector<uint32_t>;

struct Shape {
    size_t n;
    bool wrapped;
    unsigned invalid;

    std::string name() const
    {
        return "datfrozenxid/kind=min_frozen/n=" + std::to_string(n) +
               "/ring=" + (wrapped ? "wrapped" : "young") + "/invalid=" + std::to_string(invalid);
    }
    pgq_datfrozenxid_bounds bounds() const
    {
        uint32_t last_sane = wrapped ? datfrozenxid::LAST_SANE_WRAPPED : datfrozenxid::LAST_SANE_YOUNG;
        return {last_sane - 1, last_sane, false};
    }
    Array array(std::mt19937_64 &random) const
    {
        Array values(n);
        for (uint32_t &x : values)
            x = random() % 100 < invalid ? 0 : datfrozenxid::value(bounds().last_sane, random);
        return values;
    }
};

using Kernels = std::vector<bench::Named<pgq_datfrozenxid_min_frozen_fn>>;

// No wrong kernel is timed: all must find what the first one finds.
void require_equal(const Array &values, const pgq_datfrozenxid_bounds &bounds, const Kernels &kernels)
{
    uint32_t wanted, got;
    bench::require_ok(kernels[0].fn(values.data(), values.size(), &bounds, &wanted));
    for (const auto &kernel : kernels)
        if (kernel.fn) {
            bench::require_ok(kernel.fn(values.data(), values.size(), &bounds, &got));
            if (got != wanted)
                bench::fail("min_frozen: variant " + kernel.name + " differs from upstream's");
        }
}

void add_min_frozen(Shape shape)
{
    bench::Sizes sizes = bench::sizes_of(shape.n * 4);
    auto kernels = bench::supported<pgq_datfrozenxid_min_frozen_fn>(
        pgq_datfrozenxid_min_frozen_variants, pgq_datfrozenxid_min_frozen_variant_count, "scan");
    kernels.push_back({"limit", nullptr});
    bench::add(shape.name(), bench::names_of(kernels), sizes.groups(), [=]() -> bench::Timer {
        auto pool =
            bench::pool_of<Array>(shape.name(), sizes, [=](auto &random) { return shape.array(random); });
        std::vector<Array> group(sizes.group);
        require_equal(pool->inputs[0], shape.bounds(), kernels);
        return [=, bounds = shape.bounds(), read = datfrozenxid::widest_read()](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++)
                group[i] = pool->inputs[g * group.size() + i];
            return bench::time_group(group.size(), [&, fn = kernels[v].fn](size_t i) {
                uint32_t minimum;
                if (!fn)
                    return read(group[i].data(), group[i].size());
                bench::require_ok(fn(group[i].data(), group[i].size(), &bounds, &minimum));
                benchmark::DoNotOptimize(minimum);
            });
        };
    });
}

const bench::Registration scans{[] {
    for (size_t n : {20, 100, 300, 1300, 3400, 100000}) {
        add_min_frozen({n, false, 0});
        add_min_frozen({n, true, 0});
        add_min_frozen({n, false, 50});
    }
}};
} // namespace
