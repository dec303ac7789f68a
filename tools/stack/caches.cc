// SPDX-License-Identifier: PostgreSQL
#include "caches.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace stack
{
namespace
{
void must(bool done)
{
    if (done)
        return;
    std::fprintf(stderr, "stack: a request failed\n");
    std::exit(1);
}
} // namespace

// ---- tiercache ----

TierCache::TierCache(Io &io, uint64_t pages, uint32_t frames, uint32_t slots)
{
    pgq_tiercache_files files = io.table();
    pgq_tiercache_options options = {pages, frames, slots, 16, nullptr, 4096};

    require(pgq_tiercache_open(&files, &options, &cache), "opening the cache");
    cleaner = std::thread([this] { clean(); });
}

TierCache::~TierCache()
{
    {
        std::lock_guard guard(mutex);
        stopping = true;
    }
    changed.notify_all();
    cleaner.join();
    pgq_tiercache_close(cache);
}

// Keeps frames free, as many as reads and writes take in some milliseconds.
void TierCache::clean()
{
    constexpr uint32_t FREE = 64, STEPS = 16;
    std::unique_lock guard(mutex);

    my_class = BACKGROUND;
    while (!stopping) {
        uint32_t left = 0;
        guard.unlock();
        require(pgq_tiercache_clean(cache, FREE, STEPS, &left), "cleaning");
        guard.lock();
        if (left == 0)
            changed.wait_for(guard, std::chrono::milliseconds(1), [this] { return stopping; });
    }
}

void TierCache::read(uint64_t page, void *contents)
{
    require(pgq_tiercache_read(cache, page, contents), "reading a page");
}

void TierCache::write(uint64_t page, const void *contents)
{
    require(pgq_tiercache_write(cache, page, contents), "writing a page");
}

void TierCache::fsync()
{
    require(pgq_tiercache_fsync(cache), "fsync");
}

// ---- the kernel's ----

KernelCache::KernelCache(const Device &device) : fd(device.fds[STORE]) {}

void KernelCache::read(uint64_t page, void *contents)
{
    must(pread(fd, contents, PAGE, static_cast<off_t>(page * PAGE)) == PAGE);
}

void KernelCache::write(uint64_t page, const void *contents)
{
    must(pwrite(fd, contents, PAGE, static_cast<off_t>(page * PAGE)) == PAGE);
}

void KernelCache::fsync()
{
    must(fdatasync(fd) == 0);
}

// ---- the plain cache ----

PlainCache::PlainCache(Io &io, uint32_t n) : io(io)
{
    for (uint32_t i = 0; i < n; i++) {
        frames.emplace_back();
        frames.back().bytes = bytes_for(PAGE);
    }
}

// Writes a dirty frame's page; it is clean afterwards unless it was changed meanwhile. The mutex is free meanwhile.
void PlainCache::write_out(Guard &guard, Frame &frame)
{
    uint64_t version = frame.version;
    std::unique_ptr<uint8_t, void (*)(void *)> copy(static_cast<uint8_t *>(std::aligned_alloc(4096, PAGE)),
                                                    std::free);

    std::memcpy(copy.get(), frame.bytes.get(), PAGE);
    frame.writing = true;
    guard.unlock();
    must(io.write(STORE, copy.get(), PAGE, frame.page * PAGE) == PAGE);
    guard.lock();
    frame.writing = false;
    frame.dirty = frame.version != version;
    idle.notify_all();
}

// The least recently used frame, clean and without a page.
PlainCache::Frames::iterator PlainCache::victim(Guard &guard)
{
    for (;;) {
        auto last = std::find_if(frames.rbegin(), frames.rend(),
                                 [](const Frame &f) { return !f.loading && !f.writing; });
        if (last == frames.rend()) {
            idle.wait(guard);
            continue;
        }
        if (last->dirty) {
            write_out(guard, *last);
            continue;
        }
        where.erase(last->page);
        last->page = UINT64_MAX;
        return std::prev(last.base());
    }
}

// The frame of a page, now the most recently used one; load: with its contents.
PlainCache::Frames::iterator PlainCache::find(Guard &guard, uint64_t page, bool load)
{
    for (;;) {
        auto found = where.find(page);
        if (found != where.end() && !found->second->loading) {
            frames.splice(frames.begin(), frames, found->second);
            return found->second;
        }
        if (found != where.end()) {
            idle.wait(guard);
            continue;
        }
        auto frame = victim(guard);
        if (where.contains(page))
            continue; // it came while a victim was written
        frame->page = page;
        where[page] = frame;
        if (!load)
            continue;
        frame->loading = true;
        guard.unlock();
        must(io.read(STORE, frame->bytes.get(), PAGE, page * PAGE) == PAGE);
        guard.lock();
        frame->loading = false;
        idle.notify_all();
    }
}

void PlainCache::read(uint64_t page, void *contents)
{
    Guard guard(mutex);
    std::memcpy(contents, find(guard, page, true)->bytes.get(), PAGE);
}

void PlainCache::write(uint64_t page, const void *contents)
{
    Guard guard(mutex);
    auto frame = find(guard, page, false);
    std::memcpy(frame->bytes.get(), contents, PAGE);
    frame->version++;
    frame->dirty = true;
}

void PlainCache::fsync()
{
    std::lock_guard alone(flushing);
    Guard guard(mutex);
    std::vector<uint64_t> dirty;
    for (const Frame &frame : frames)
        if (frame.dirty)
            dirty.push_back(frame.page);
    std::sort(dirty.begin(), dirty.end());
    for (uint64_t page : dirty) {
        auto found = where.find(page);
        while (found != where.end() && found->second->writing) {
            idle.wait(guard);
            found = where.find(page);
        }
        if (found != where.end() && found->second->dirty)
            write_out(guard, *found->second);
    }
    guard.unlock();
    must(io.sync(STORE) == 0);
}
} // namespace stack
