// SPDX-License-Identifier: PostgreSQL
//
// Store, SSD and control file in memory, for the benchmarks of the cache; requests to the store are counted.
#pragma once

#include <cstring>
#include <memory>

#include "harness.h"

namespace tiercache
{
constexpr uint64_t PAGE = PGQ_TIERCACHE_PAGE_SIZE;

struct Device {
    std::vector<uint8_t> bytes[3];
    uint64_t requests = 0; // reads, writes and syncs of the store

    Device(uint64_t pages, uint64_t slots)
    {
        bytes[PGQ_TIERCACHE_FILE_STORE].resize((pages + PGQ_TIERCACHE_TRAILERS) * PAGE);
        bytes[PGQ_TIERCACHE_FILE_SSD].resize(4096 + slots * (512 + PAGE));
        bytes[PGQ_TIERCACHE_FILE_CONTROL].resize(512);
    }

    pgq_tiercache_files table()
    {
        return {this, read, write, sync, nullptr};
    }

  private:
    static Device &of(void *context, int file)
    {
        auto &device = *static_cast<Device *>(context);
        device.requests += file == PGQ_TIERCACHE_FILE_STORE;
        return device;
    }
    static int64_t read(void *context, int file, void *to, uint64_t size, uint64_t offset)
    {
        auto &from = of(context, file).bytes[file];
        if (offset >= from.size())
            return 0;
        size = std::min<uint64_t>(size, from.size() - offset);
        std::memcpy(to, from.data() + offset, size);
        return static_cast<int64_t>(size);
    }
    static int64_t write(void *context, int file, const void *from, uint64_t size, uint64_t offset)
    {
        std::memcpy(of(context, file).bytes[file].data() + offset, from, size);
        return static_cast<int64_t>(size);
    }
    static int sync(void *context, int file)
    {
        of(context, file);
        return 0;
    }
};

struct Close {
    void operator()(pgq_tiercache *cache) const
    {
        pgq_tiercache_close(cache);
    }
};
using Cache = std::unique_ptr<pgq_tiercache, Close>;

template <class Files> Cache open(Files &device, const pgq_tiercache_options &options)
{
    pgq_tiercache_files files = device.table();
    pgq_tiercache *cache = nullptr;
    bench::require_ok(pgq_tiercache_open(&files, &options, &cache));
    return Cache(cache);
}

// Has all its n pages in memory.
inline Cache filled(Device &device, uint32_t n, const char *policy)
{
    Cache cache = open(device, {n, n, 0, 1, policy, 0, false});
    std::vector<uint8_t> page(PAGE, 1);
    for (uint64_t p = 0; p < n; p++)
        bench::require_ok(pgq_tiercache_write(cache.get(), p, page.data()));
    return cache;
}
} // namespace tiercache
