// SPDX-License-Identifier: PostgreSQL
#include "database.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace stack
{
namespace
{
constexpr uint64_t LOG_CAPACITY = 80u << 20;

// The store's file, as the device has it; DATA is the cache's.
int on_device(int file)
{
    return file == PGQ_TORNPAGE_LOG ? LOG : file == PGQ_TORNPAGE_AREA ? AREA : LOG_CONTROL;
}
} // namespace

Database::Database(Device &device, Io &io, PageCache &cache, const Parts &parts, uint32_t pages)
    : device(device), io(io), cache(cache), lock(!parts.rangelock && !parts.kernel),
      pages(pages), config{parts.protection, PAGE, pages, 64, LOG_CAPACITY}, files{this, read_file,
                                                                                   write_file, sync_file}
{
    require(pgq_tornpage_create(&config, &files, &store), "a store");
    require(pgq_tornpage_format(store), "formatting");
    owner = std::thread([this] { run(); });
}

Database::~Database()
{
    {
        std::lock_guard guard(mutex);
        stopping = true;
        asked.notify_all();
    }
    owner.join();
    pgq_tornpage_destroy(store);
}

// ---- the store's files ----

int Database::read_file(void *context, int file, uint64_t at, void *bytes, size_t size)
{
    auto &self = *static_cast<Database *>(context);
    if (file != PGQ_TORNPAGE_DATA) {
        ssize_t n = pread(self.device.fds[on_device(file)], bytes, size, static_cast<off_t>(at));
        if (n < 0)
            return -1;
        std::memset(static_cast<char *>(bytes) + n, 0, size - static_cast<size_t>(n));
        return 0;
    }
    for (size_t did = 0; did < size; did += PAGE)
        self.cache.read((at + did) / PAGE, static_cast<char *>(bytes) + did);
    return 0;
}

int Database::write_file(void *context, int file, uint64_t at, const void *bytes, size_t size)
{
    auto &self = *static_cast<Database *>(context);
    if (file != PGQ_TORNPAGE_DATA)
        return pwrite(self.device.fds[on_device(file)], bytes, size, static_cast<off_t>(at)) ==
                       static_cast<ssize_t>(size)
                   ? 0
                   : -1;
    Held held(self.lock, at, size, PGQ_RANGELOCK_EXCLUSIVE);
    self.cache.write(at / PAGE, bytes);
    return 0;
}

int Database::sync_file(void *context, int file)
{
    auto &self = *static_cast<Database *>(context);
    if (file != PGQ_TORNPAGE_DATA)
        return fdatasync(self.device.fds[on_device(file)]);
    self.cache.fsync();
    return 0;
}

// ---- calls ----

void Database::read(uint32_t page, void *contents)
{
    {
        Held held(lock, uint64_t{page} * PAGE, PAGE, PGQ_RANGELOCK_SHARED);
        cache.read(page, contents);
    }
    require(pgq_tornpage_check(contents, 1, PAGE, page, nullptr), "a page's checksum");
}

void Database::ask(Task *task)
{
    std::unique_lock guard(mutex);
    waiting.push_back(task);
    asked.notify_one();
    answered.wait(guard, [=] { return task->done; });
}

void Database::commit(const Change *changes, size_t n)
{
    Task task{changes, n, {}};
    ask(&task);
}

void Database::end_checkpoint()
{
    require(pgq_tornpage_checkpoint_end(store), "a checkpoint's end");
}

void Database::checkpoint()
{
    Task begin{nullptr, 0, [this] { require(pgq_tornpage_checkpoint_begin(store), "a checkpoint"); }};
    Task end{nullptr, 0, [this] { end_checkpoint(); }};
    ask(&begin);
    cache.fsync();
    ask(&end);
}

bool Database::recovers()
{
    bool same = true;
    Task restart{nullptr, 0, [&] {
                     pgq_tornpage_store *again;
                     require(pgq_tornpage_create(&config, &files, &again), "a store");
                     require(pgq_tornpage_recover(again), "recovery");
                     for (uint32_t page = 0; page < pages; page++)
                         same &= std::memcmp(static_cast<const char *>(pgq_tornpage_page(again, page)) + 24,
                                             static_cast<const char *>(pgq_tornpage_page(store, page)) + 24,
                                             PAGE - 24) == 0;
                     pgq_tornpage_destroy(std::exchange(store, again));
                 }};
    ask(&restart);
    return same;
}

// ---- the owner of the store ----

void Database::perform(const std::vector<Task *> &tasks)
{
    std::vector<uint32_t> changed;
    for (Task *task : tasks) {
        for (size_t i = 0; i < task->n; i++) {
            const Change &c = task->changes[i];
            require(pgq_tornpage_change(store, c.page, c.offset, c.bytes, c.size), "a change");
            changed.push_back(c.page);
        }
    }
    if (!changed.empty()) {
        require(pgq_tornpage_flush(store), "the log's sync");
        require(pgq_tornpage_write_back(store, changed.data(), changed.size()), "pages to the cache");
    }
    for (Task *task : tasks)
        if (task->action)
            task->action();
}

void Database::run()
{
    std::unique_lock guard(mutex);
    for (;;) {
        asked.wait(guard, [this] { return stopping || !waiting.empty(); });
        if (waiting.empty())
            return;
        std::vector<Task *> tasks = std::exchange(waiting, {});
        guard.unlock();
        perform(tasks);
        guard.lock();
        for (Task *task : tasks)
            task->done = true;
        answered.notify_all();
    }
}
} // namespace stack
