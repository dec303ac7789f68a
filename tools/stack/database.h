// SPDX-License-Identifier: PostgreSQL
//
// What stands above the page cache: a database's pages and log, by the store of `tornpage`. Its pages are read and written
// through the cache, each with its bytes locked (over the kernel's page cache too: PostgreSQL locks its buffers one by one);
// its log has files of its own. One thread owns the store, which is for one
// thread: it takes all changes that wait, logs them, syncs the log once, and writes the pages to the cache.
#pragma once

#include "caches.h"

#include <functional>

namespace stack
{
class Database
{
  public:
    Database(Device &device, Io &io, PageCache &cache, const Parts &parts, uint32_t pages);
    ~Database();
    Database(const Database &) = delete;

    // A page, of which the checksum is right.
    void read(uint32_t page, void *contents);

    // Changes bytes of pages; they are durable when this returns.
    struct Change {
        uint32_t page, offset, size;
        const void *bytes;
    };
    void commit(const Change *changes, size_t n);

    // The cache writes back first, in the thread that calls, while commits go on.
    void checkpoint();

    // As after a restart: a new store recovers from the files. false: some page is not what it was.
    bool recovers();

  private:
    struct Task {
        const Change *changes;
        size_t n;
        std::function<void()> action; // in the place of changes
        bool done = false;
    };
    void ask(Task *task);
    void run();
    void perform(const std::vector<Task *> &tasks);
    void end_checkpoint();

    static int read_file(void *self, int file, uint64_t at, void *bytes, size_t size);
    static int write_file(void *self, int file, uint64_t at, const void *bytes, size_t size);
    static int sync_file(void *self, int file);

    Device &device;
    Io &io;
    PageCache &cache;
    FileLock lock;
    uint32_t pages;
    pgq_tornpage_config config;
    pgq_tornpage_device files;
    pgq_tornpage_store *store = nullptr;

    std::mutex mutex; // of all below
    std::condition_variable asked, answered;
    std::vector<Task *> waiting;
    bool stopping = false;
    std::thread owner;
};
} // namespace stack
