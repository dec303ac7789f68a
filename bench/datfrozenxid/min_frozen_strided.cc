// SPDX-License-Identifier: PostgreSQL
//
// How long does the whole scan of n pg_class rows take, as records in memory? stride=128: the fields at offsets 115 and 120.
// stride=168: at 115 and 132, as in a row of 15 with its header. The kinds of rows and their share are those of a database
// with indexes and TOAST tables; rows of other kinds hold invalid ids.
#include "inputs.h"

namespace
{
struct Table {
    std::vector<unsigned char> records;
    pgq_datfrozenxid_rows rows;
};

constexpr pgq_datfrozenxid_pair LAST_SANE = {datfrozenxid::LAST_SANE_YOUNG, datfrozenxid::LAST_SANE_YOUNG};
constexpr pgq_datfrozenxid_pair START = {datfrozenxid::LAST_SANE_YOUNG - 1,
                                         datfrozenxid::LAST_SANE_YOUNG - 1};

Table table(size_t n, size_t stride, std::mt19937_64 &random)
{
    Table made{std::vector<unsigned char>(n * stride),
               {nullptr, n, stride, 115, stride == 128 ? size_t{120} : size_t{132}}};
    for (size_t i = 0; i < n; i++) {
        unsigned char *record = made.records.data() + i * stride;
        char kind = "rrrrtttmiiiiiivS"[random() % 16];
        bool holds = std::strchr("rtm", kind) != nullptr;
        pgq_datfrozenxid_pair ids = {holds ? datfrozenxid::value(LAST_SANE.xid, random) : 0,
                                     holds ? datfrozenxid::value(LAST_SANE.multi, random) : 0};
        record[made.rows.relkind_at] = static_cast<unsigned char>(kind);
        std::memcpy(record + made.rows.relfrozenxid_at, &ids, sizeof ids);
    }
    return made;
}

void add_strided(size_t n, size_t stride)
{
    std::string name =
        "datfrozenxid/kind=min_frozen_strided/n=" + std::to_string(n) + "/stride=" + std::to_string(stride);
    bench::Sizes sizes = bench::sizes_of(n * stride);
    auto kernels = bench::supported<pgq_datfrozenxid_min_frozen_strided_fn>(
        pgq_datfrozenxid_min_frozen_strided_variants, pgq_datfrozenxid_min_frozen_strided_variant_count,
        "scan");
    bench::add(name, bench::names_of(kernels), sizes.groups(), [=]() -> bench::Timer {
        auto pool =
            bench::pool_of<Table>(name, sizes, [=](auto &random) { return table(n, stride, random); });
        std::vector<Table> group(sizes.group);
        return [=](size_t v, size_t g) mutable {
            for (size_t i = 0; i < group.size(); i++) {
                group[i] = pool->inputs[g * group.size() + i];
                group[i].rows.records = group[i].records.data();
            }
            return bench::time_group(group.size(), [&, fn = kernels[v].fn](size_t i) {
                pgq_datfrozenxid_pair minimum;
                bench::require_ok(fn(&group[i].rows, &START, &LAST_SANE, &minimum));
                benchmark::DoNotOptimize(minimum);
            });
        };
    });
}

const bench::Registration scans{[] {
    for (size_t n : {20, 300, 1300, 3400})
        for (size_t stride : {128, 168})
            add_strided(n, stride);
}};
} // namespace
