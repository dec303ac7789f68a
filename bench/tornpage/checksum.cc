// SPDX-License-Identifier: PostgreSQL
//
// How long does the checksum of a page take, by its size? The pages of a group lie one after the other in L2; they are
// given one by one (`calls=each`), as a server reads them, or in one call (`calls=batch`), as a check of a file does.
// The yardstick `limit` reads every byte of the same pages, by the widest loads that the CPU has, and no more. A call of a
// configuration is one page.
#include <cstring>
#include <immintrin.h>

#include "harness.h"

namespace
{
using Kernels = std::vector<bench::Named<pgq_tornpage_checksum_fn>>;
using Page = std::vector<uint8_t>;
using Pool = bench::Pool<Page>;
using Reader = uint32_t (*)(const uint8_t *, size_t);

constexpr uint32_t FIRST_BLOCK = 1000;

uint32_t read_plain(const uint8_t *bytes, size_t size)
{
    uint64_t any = 0;
    for (size_t at = 0; at < size; at += sizeof any) {
        uint64_t word;
        std::memcpy(&word, bytes + at, sizeof word);
        benchmark::DoNotOptimize(word);
        any |= word;
    }
    return static_cast<uint32_t>(any);
}

__attribute__((target("avx2"))) uint32_t read_avx2(const uint8_t *bytes, size_t size)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t at = 0; at < size; at += 128) {
        const __m256i *from = reinterpret_cast<const __m256i *>(bytes + at);
        a = _mm256_or_si256(a, _mm256_loadu_si256(from));
        b = _mm256_or_si256(b, _mm256_loadu_si256(from + 1));
        c = _mm256_or_si256(c, _mm256_loadu_si256(from + 2));
        d = _mm256_or_si256(d, _mm256_loadu_si256(from + 3));
    }
    a = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    return static_cast<uint32_t>(_mm256_extract_epi32(a, 0) | _mm256_extract_epi32(a, 7));
}

__attribute__((target("avx512f"))) uint32_t read_avx512(const uint8_t *bytes, size_t size)
{
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (size_t at = 0; at < size; at += 256) {
        a = _mm512_or_si512(a, _mm512_loadu_si512(bytes + at));
        b = _mm512_or_si512(b, _mm512_loadu_si512(bytes + at + 64));
        c = _mm512_or_si512(c, _mm512_loadu_si512(bytes + at + 128));
        d = _mm512_or_si512(d, _mm512_loadu_si512(bytes + at + 192));
    }
    a = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    return _mm512_test_epi32_mask(a, a);
}

Reader widest_reader()
{
    if (__builtin_cpu_supports("avx512f"))
        return read_avx512;
    return __builtin_cpu_supports("avx2") ? read_avx2 : read_plain;
}

// No wrong kernel is timed: all variants must give the same checksums.
void require_equal_results(const uint8_t *pages, size_t count, size_t size, const Kernels &variants)
{
    std::vector<uint16_t> first(count), sums(count);
    for (const auto &variant : variants) {
        if (variant.fn == nullptr)
            continue;
        bench::require_ok(variant.fn(pages, count, size, FIRST_BLOCK, sums.data()));
        if (&variant == &variants[0])
            first = sums;
        if (sums != first)
            bench::fail("tornpage: variant " + variant.name + " gives other checksums");
    }
}

class Group
{
  public:
    Group(std::shared_ptr<const Pool> from, size_t size)
        : from(std::move(from)), size(size), count(this->from->sizes.group),
          memory(bench::aligned<uint8_t>(count * size)), sums(count)
    {
    }

    void fill(size_t group)
    {
        for (size_t i = 0; i < count; i++)
            std::memcpy(memory.get() + i * size, from->inputs[group * count + i].data(), size);
    }

    double time(pgq_tornpage_checksum_fn fn, bool batch)
    {
        size_t calls = batch ? 1 : count, pages = count / calls;
        double seconds = bench::time_group(calls, [&](size_t i) {
            bench::require_ok(fn(memory.get() + i * size, pages, size, FIRST_BLOCK, sums.data() + i));
        });
        benchmark::DoNotOptimize(sums.data());
        return seconds / static_cast<double>(pages);
    }

    double time_limit(Reader read, bool batch)
    {
        size_t calls = batch ? 1 : count, pages = count / calls;
        double seconds = bench::time_group(
            calls, [&](size_t i) { benchmark::DoNotOptimize(read(memory.get() + i * size, pages * size)); });
        return seconds / static_cast<double>(pages);
    }

    const uint8_t *bytes() const
    {
        return memory.get();
    }
    size_t pages() const
    {
        return count;
    }

  private:
    std::shared_ptr<const Pool> from;
    size_t size, count;
    bench::Memory<uint8_t> memory;
    std::vector<uint16_t> sums;
};

void add_checksum(size_t size, bool batch)
{
    std::string name =
        "tornpage/kind=checksum/size=" + std::to_string(size) + "/calls=" + (batch ? "batch" : "each");
    bench::Sizes sizes = bench::sizes_of(size);
    Kernels variants = bench::supported<pgq_tornpage_checksum_fn>(
        pgq_tornpage_checksum_variants, pgq_tornpage_checksum_variant_count, "upstream");
    variants.push_back({"limit", nullptr});
    bench::add(name, bench::names_of(variants), sizes.groups(), [=]() -> bench::Timer {
        auto pool = bench::pool_of<Page>(name, sizes, [=](std::mt19937_64 &random) {
            Page page(size);
            for (size_t at = 0; at < size; at += 8) {
                uint64_t word = random();
                std::memcpy(page.data() + at, &word, sizeof word);
            }
            return page;
        });
        auto group = std::make_shared<Group>(pool, size);
        group->fill(0);
        require_equal_results(group->bytes(), group->pages(), size, variants);
        return [=, read = widest_reader()](size_t v, size_t g) {
            group->fill(g);
            return variants[v].fn == nullptr ? group->time_limit(read, batch)
                                             : group->time(variants[v].fn, batch);
        };
    });
}

const bench::Registration checksums{[] {
    for (size_t size : {1024, 2048, 4096, 8192, 16384, 32768}) {
        add_checksum(size, false);
        add_checksum(size, true);
    }
}};
} // namespace
