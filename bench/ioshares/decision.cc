// SPDX-License-Identifier: PostgreSQL
//
// How long does it take to submit a request, to take the next one, and to complete it?
//   backlogged  64 requests of each class wait; the class that is served submits again
//   idle        nothing waits but the request that was just submitted
// The log is off. Classes and latencies are random; each group goes on where its variant's scheduler stopped.
#include "harness.h"

namespace
{
constexpr uint32_t BACKLOG = 64, PAGE = 8192;

struct Input {
    uint32_t cls;
    uint64_t latency;
};

class Scheduler
{
  public:
    Scheduler(pgq_ioshares_fn make, uint32_t classes, bool backlogged)
    {
        static constexpr uint32_t shares[PGQ_IOSHARES_MAX_CLASSES] = {500, 200, 200, 100, 50, 50, 20, 10};
        std::vector<pgq_ioshares_class> of_classes;
        for (uint32_t i = 0; i < classes; i++)
            of_classes.push_back({shares[i], i == 0 ? 1u << 20 : 0, 2 * BACKLOG});
        pgq_ioshares_config config = {of_classes.data(), classes, {1, 8, 64, 64, 100000}, nullptr, 0, {0, 0}};
        size_t bytes;
        bench::require_ok(pgq_ioshares_bytes(&config, &bytes));
        memory = bench::aligned<char>(bytes);
        bench::require_ok(make(memory.get(), bytes, &config, &scheduler));
        for (uint32_t i = 0; backlogged && i < classes * BACKLOG; i++)
            submit(i % classes);
    }

    void submit(uint32_t cls)
    {
        pgq_ioshares_request request = {id++, PAGE, cls, false};
        bench::require_ok(pgq_ioshares_submit(scheduler, &request));
    }

    uint32_t go(uint64_t latency)
    {
        pgq_ioshares_request request;
        bench::require_ok(pgq_ioshares_next(scheduler, &request));
        benchmark::DoNotOptimize(request);
        bench::require_ok(pgq_ioshares_complete(scheduler, request.cls, latency));
        return request.cls;
    }

  private:
    bench::Memory<char> memory;
    pgq_ioshares *scheduler = nullptr;
    uint64_t id = 0;
};

void add_decisions(uint32_t classes, bool backlogged)
{
    std::string name = "ioshares/kind=decision/load=" + std::string(backlogged ? "backlogged" : "idle") +
                       "/classes=" + std::to_string(classes);
    bench::Sizes sizes = {1 << 16, 256};
    auto variants =
        bench::supported<pgq_ioshares_fn>(pgq_ioshares_variants, pgq_ioshares_variant_count, "fifo");
    bench::add(name, bench::names_of(variants), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Input>(name, sizes, [=](std::mt19937_64 &random) {
            return Input{static_cast<uint32_t>(random() % classes), 50000 + random() % 100000};
        });
        std::vector<std::shared_ptr<Scheduler>> schedulers;
        for (const auto &variant : variants)
            schedulers.push_back(std::make_shared<Scheduler>(variant.fn, classes, backlogged));
        return [=](size_t v, size_t g) {
            const Input *group = &pool->inputs[g * sizes.group];
            Scheduler &scheduler = *schedulers[v];
            if (backlogged)
                return bench::time_group(sizes.group,
                                         [&](size_t i) { scheduler.submit(scheduler.go(group[i].latency)); });
            return bench::time_group(sizes.group, [&](size_t i) {
                scheduler.submit(group[i].cls);
                scheduler.go(group[i].latency);
            });
        };
    });
}

const bench::Registration decisions{[] {
    for (uint32_t classes : {1, 4, 8})
        for (bool backlogged : {true, false})
            add_decisions(classes, backlogged);
}};
} // namespace
