// SPDX-License-Identifier: PostgreSQL
//
// The page cache of the stack: tiercache; the plain one, which has one tier, evicts the least recently used page, and
// writes back page by page; or the kernel's alone. Several threads may call each. All calls end the program if they fail.
#pragma once

#include "io.h"

#include <list>
#include <unordered_map>

namespace stack
{
class PageCache
{
  public:
    virtual ~PageCache() = default;
    virtual void read(uint64_t page, void *contents) = 0;
    virtual void write(uint64_t page, const void *contents) = 0;
    virtual void fsync() = 0;
};

// With a thread that cleans: it makes room before a read or write needs it.
class TierCache : public PageCache
{
  public:
    TierCache(Io &io, uint64_t pages, uint32_t frames, uint32_t slots);
    ~TierCache() override;
    void read(uint64_t page, void *contents) override;
    void write(uint64_t page, const void *contents) override;
    void fsync() override;

  private:
    void clean();

    pgq_tiercache *cache = nullptr;
    std::mutex mutex; // of `stopping`
    std::condition_variable changed;
    bool stopping = false;
    std::thread cleaner;
};

// None of ours: pread, pwrite and fdatasync of the store's file.
class KernelCache : public PageCache
{
  public:
    explicit KernelCache(const Device &device);
    void read(uint64_t page, void *contents) override;
    void write(uint64_t page, const void *contents) override;
    void fsync() override;

  private:
    int fd;
};

// As in tiercache, misses of several threads wait for the device side by side.
class PlainCache : public PageCache
{
  public:
    PlainCache(Io &io, uint32_t frames);
    void read(uint64_t page, void *contents) override;
    void write(uint64_t page, const void *contents) override;
    void fsync() override;

  private:
    struct Frame {
        uint64_t page = UINT64_MAX, version = 0; // the version grows with each write
        bool dirty = false, loading = false, writing = false;
        Bytes bytes{nullptr, std::free};
    };
    using Frames = std::list<Frame>;
    using Guard = std::unique_lock<std::mutex>;

    Frames::iterator find(Guard &guard, uint64_t page, bool load);
    Frames::iterator victim(Guard &guard);
    void write_out(Guard &guard, Frame &frame);

    Io &io;
    std::mutex mutex, flushing;
    std::condition_variable idle;
    Frames frames; // the most recently used one first
    std::unordered_map<uint64_t, Frames::iterator> where;
};
} // namespace stack
