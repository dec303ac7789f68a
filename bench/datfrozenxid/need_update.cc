// SPDX-License-Identifier: PostgreSQL
//
// How long does the decision about both columns of a pg_database row take? Of the stored values a quarter each is equal to the
// minimum, older, newer, and in the future.
#include "inputs.h"

namespace
{
struct Decision {
    pgq_datfrozenxid_pair stored, minimum, last_sane;
};

uint32_t stored(uint32_t minimum, uint32_t last_sane, std::mt19937_64 &random)
{
    uint32_t near = static_cast<uint32_t>(random() % 100000) + 1;
    uint32_t choices[] = {minimum, minimum - near, minimum + near, last_sane + near};
    return choices[random() % 4];
}

Decision decision(std::mt19937_64 &random)
{
    uint32_t last_sane = datfrozenxid::LAST_SANE_YOUNG;
    uint32_t xid = last_sane - 200000 - static_cast<uint32_t>(random() % 1000000), multi = xid + 1000;
    return {{stored(xid, last_sane, random), stored(multi, last_sane, random)},
            {xid, multi},
            {last_sane, last_sane}};
}

void add_need_update()
{
    std::string name = "datfrozenxid/kind=need_update/stored=mixed";
    bench::Sizes sizes = bench::sizes_of(sizeof(Decision), 65536);
    auto kernels = bench::supported<pgq_datfrozenxid_need_update_fn>(
        pgq_datfrozenxid_need_update_variants, pgq_datfrozenxid_need_update_variant_count, "scan");
    bench::add(name, bench::names_of(kernels), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Decision>(name, sizes, decision);
        std::vector<Decision> group(sizes.group);
        return [=](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++)
                group[i] = pool->inputs[g * group.size() + i];
            return bench::time_group(group.size(), [&, fn = kernels[v].fn](size_t i) {
                pgq_datfrozenxid_changes changes;
                bench::require_ok(fn(&group[i].stored, &group[i].minimum, &group[i].last_sane, &changes));
                benchmark::DoNotOptimize(changes);
            });
        };
    });
}

const bench::Registration decisions{[] { add_need_update(); }};
} // namespace
