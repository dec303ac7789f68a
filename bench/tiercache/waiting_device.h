// SPDX-License-Identifier: PostgreSQL
//
// Store, SSD and control file that take their time: a request waits for one of its file's `lanes`, and is served in it. One CPU will
// do: who waits needs none.
#pragma once

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include "memory_device.h"

namespace tiercache
{
using Clock = std::chrono::steady_clock;

constexpr uint64_t STORE_PAGES = uint64_t{1} << 32;

// How long a request is served; 0: at once. The store may be written.
struct Service {
    std::chrono::microseconds store, ssd;
    bool written;
};

// A page of the store is its number: what is written to it must be that, and is not kept. Only its trailers are.
struct Waiting {
    std::counting_semaphore<> store_lanes, ssd_lanes;
    std::vector<uint8_t> ssd, control, trailers;
    std::atomic<bool> takes_time{false};
    Service service;

    Waiting(unsigned n, uint32_t slots, Service service)
        : store_lanes(n), ssd_lanes(n), ssd(4096 + slots * (512 + PAGE)), control(512),
          trailers(PGQ_TIERCACHE_TRAILERS * PAGE), service(service)
    {
    }
    void serve(int file)
    {
        bool is_ssd = file == PGQ_TIERCACHE_FILE_SSD;
        std::chrono::microseconds time = is_ssd ? service.ssd : service.store;
        std::counting_semaphore<> &lanes = is_ssd ? ssd_lanes : store_lanes;
        if (!takes_time || time.count() == 0)
            return;
        lanes.acquire();
        std::this_thread::sleep_for(time);
        lanes.release();
    }
    // One request: pages that follow each other.
    void read_pages(uint64_t page, uint8_t *to, uint64_t n)
    {
        serve(PGQ_TIERCACHE_FILE_STORE);
        for (uint64_t i = 0; i < n; i++)
            std::memset(to + PAGE * i, static_cast<int>((page + i) & 0xff), PAGE);
    }
    pgq_tiercache_files table()
    {
        return {this, read, write, sync, nullptr};
    }

  private:
    // What lies in memory: nullptr for the pages of the store.
    uint8_t *at(int file, uint64_t offset)
    {
        if (file == PGQ_TIERCACHE_FILE_SSD)
            return ssd.data() + offset;
        if (file == PGQ_TIERCACHE_FILE_CONTROL)
            return control.data() + offset;
        return offset < STORE_PAGES * PAGE ? nullptr : trailers.data() + (offset - STORE_PAGES * PAGE);
    }
    void check_pages(uint64_t page, const uint8_t *from, uint64_t n) const
    {
        if (!service.written)
            bench::fail("a page of the store was written, and none is dirty");
        for (uint64_t i = 0; i < n; i++)
            if (from[PAGE * i] != static_cast<uint8_t>((page + i) & 0xff))
                bench::fail("a page of the store gets what is another's");
    }
    static int64_t read(void *context, int file, void *to, uint64_t size, uint64_t offset)
    {
        auto &device = *static_cast<Waiting *>(context);
        const uint8_t *from = device.at(file, offset);
        if (from == nullptr) {
            device.read_pages(offset / PAGE, static_cast<uint8_t *>(to), size / PAGE);
        } else {
            device.serve(file);
            std::memcpy(to, from, size);
        }
        return static_cast<int64_t>(size);
    }
    static int64_t write(void *context, int file, const void *from, uint64_t size, uint64_t offset)
    {
        auto &device = *static_cast<Waiting *>(context);
        uint8_t *to = device.at(file, offset);
        device.serve(file);
        if (to == nullptr)
            device.check_pages(offset / PAGE, static_cast<const uint8_t *>(from), size / PAGE);
        else
            std::memcpy(to, from, size);
        return static_cast<int64_t>(size);
    }
    static int sync(void *context, int file)
    {
        static_cast<Waiting *>(context)->serve(file);
        return 0;
    }
};
} // namespace tiercache
