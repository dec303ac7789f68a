// SPDX-License-Identifier: PostgreSQL
#include "io.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace stack
{
void require(pgq_status status, const char *what)
{
    if (status.code == PGQ_OK)
        return;
    std::fprintf(stderr, "stack: %s: %s\n", what, pgq_strerror(status.code));
    std::exit(1);
}

namespace
{
template <typename Variant> auto variant(const Variant *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].fn;
    std::fprintf(stderr, "stack: there is no variant %s\n", name);
    std::exit(1);
}
} // namespace

// ---- the lock ----

FileLock::FileLock(bool whole)
{
    auto make = variant(pgq_rangelock_variants, pgq_rangelock_variant_count, whole ? "rwlock" : "interval");
    require(make(-1, &made), "a lock");
}

FileLock::~FileLock()
{
    require(pgq_rangelock_destroy(made), "a lock's end");
}

void FileLock::lock(pgq_rangelock_hold *hold, uint64_t offset, uint64_t size, pgq_rangelock_mode mode)
{
    require(pgq_rangelock_lock(made, hold, offset, size, mode), "lock");
}

void FileLock::unlock(pgq_rangelock_hold *hold)
{
    require(pgq_rangelock_unlock(made, hold), "unlock");
}

// ---- requests ----

Io::Io(Device &device, const Parts &parts)
    : device(device), ranges(parts.rangelock), lock(!parts.rangelock), reaper([this] { reap(); })
{
    start_engine(parts.ioshares);
}

// Shares of backends and background as in the AppOS deck. A burst of 128 pages of the backends goes first.
void Io::start_engine(bool shares)
{
    const pgq_ioshares_class classes[CLASSES] = {{500, 1 << 20, 4096}, {200, 0, 4096}};
    const pgq_ioshares_limits ours = {1, 8, 32, 64, 750'000}, none = {MOST, MOST, MOST, 1 << 16, 1ull << 40};
    const pgq_ioshares_config config = {classes, CLASSES, shares ? ours : none, nullptr, 0, {0, 0}};
    auto make = variant(pgq_ioshares_variants, pgq_ioshares_variant_count, shares ? "sfq" : "fifo");
    size_t bytes;
    pgq_ioshares *scheduler;

    require(pgq_ioshares_bytes(&config, &bytes), "the scheduler's configuration");
    memory.resize(bytes / sizeof memory[0] + 1);
    require(make(memory.data(), memory.size() * sizeof memory[0], &config, &scheduler), "a scheduler");
    // By threads: their calls pass the counters of the device.
    require(pgq_ioshares_engine_start(scheduler, PGQ_IOSHARES_BY_THREADS, nullptr, &engine), "an engine");
}

Io::~Io()
{
    {
        std::lock_guard guard(mutex);
        stopping = true;
        changed.notify_all();
    }
    reaper.join();
    require(pgq_ioshares_engine_stop(engine), "the engine's end");
}

namespace
{
pgq_ioshares_io request_of(void *buffer, uint64_t size, uint64_t offset, int fd)
{
    pgq_ioshares_io io = {};
    io.buffer = buffer;
    io.offset = offset;
    io.size = static_cast<uint32_t>(size);
    io.cls = my_class;
    io.fd = fd;
    return io;
}
} // namespace

bool Io::perform(pgq_ioshares_io *io)
{
    require(pgq_ioshares_engine_submit(engine, io), "submit");
    require(pgq_ioshares_engine_wait(engine, io), "wait");
    return io->error == 0;
}

int64_t Io::read(int file, void *bytes, uint64_t size, uint64_t offset)
{
    if (file != STORE)
        return pread(device.fds[file], bytes, size, static_cast<off_t>(offset));
    Bytes aligned = bytes_for(size); // the store is read past the page cache
    pgq_ioshares_io io = request_of(aligned.get(), size, offset, device.fds[STORE]);
    Held held(lock, offset, size, PGQ_RANGELOCK_SHARED);
    bool done = perform(&io);
    std::memcpy(bytes, aligned.get(), size);
    return done ? static_cast<int64_t>(size) : -1;
}

int64_t Io::write(int file, const void *bytes, uint64_t size, uint64_t offset)
{
    if (file != STORE)
        return pwrite(device.fds[file], bytes, size, static_cast<off_t>(offset));
    auto request = std::make_unique<Write>();
    request->bytes = bytes_for(size);
    std::memcpy(request->bytes.get(), bytes, size);
    request->io = request_of(request->bytes.get(), size, offset, device.fds[STORE]);
    pgq_ioshares_io &io = request->io;
    io.write = true;
    lock.lock(&request->hold, offset, size, PGQ_RANGELOCK_EXCLUSIVE);
    if (!ranges) {
        bool done = perform(&io);
        lock.unlock(&request->hold);
        return done ? static_cast<int64_t>(size) : -1;
    }
    require(pgq_ioshares_engine_submit(engine, &io), "submit");
    std::unique_lock guard(mutex);
    changed.wait(guard, [this] { return on_the_way.size() < MOST; });
    on_the_way.push_back(std::move(request));
    changed.notify_all();
    return static_cast<int64_t>(size);
}

// Gives the bytes back of the writes that have ended, in the order in which they began.
void Io::reap()
{
    std::unique_lock guard(mutex);
    for (;;) {
        changed.wait(guard, [this] { return stopping || !on_the_way.empty(); });
        if (on_the_way.empty())
            return;
        Write *oldest = on_the_way.front().get();
        guard.unlock();
        require(pgq_ioshares_engine_wait(engine, &oldest->io), "wait");
        lock.unlock(&oldest->hold);
        guard.lock();
        failed |= oldest->io.error != 0;
        on_the_way.pop_front();
        changed.notify_all();
    }
}

int Io::sync(int file)
{
    if (file == STORE) {
        std::unique_lock guard(mutex);
        changed.wait(guard, [this] { return on_the_way.empty(); });
        if (std::exchange(failed, false))
            return -1;
    }
    return fdatasync(device.fds[file]);
}

pgq_tiercache_files Io::table()
{
    return {this,
            [](void *io, int file, void *bytes, uint64_t size, uint64_t offset) {
                return static_cast<Io *>(io)->read(file, bytes, size, offset);
            },
            [](void *io, int file, const void *bytes, uint64_t size, uint64_t offset) {
                return static_cast<Io *>(io)->write(file, bytes, size, offset);
            },
            [](void *io, int file) { return static_cast<Io *>(io)->sync(file); }, nullptr};
}
} // namespace stack
