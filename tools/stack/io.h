// SPDX-License-Identifier: PostgreSQL
//
// Requests to the files of a page cache: each to the store holds its bytes in a lock of `rangelock`, shared or exclusive,
// and goes through an engine of `ioshares`, in the class of the thread that asks. The parts are exchanged by their variants:
// `rwlock` locks the whole file, `fifo` takes the request that came first, and has no small limit of requests in flight.
#pragma once

#include "device.h"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

extern "C" {
#include "pgquern.h"
}

namespace stack
{
constexpr uint32_t PAGE = PGQ_TIERCACHE_PAGE_SIZE;

// BACKGROUND: the checkpointer and the cleaner of tiercache.
enum Class : uint32_t { BACKEND, BACKGROUND, CLASSES };

// The class of this thread's requests.
inline thread_local uint32_t my_class = BACKEND;

// For a file that is opened with O_DIRECT.
using Bytes = std::unique_ptr<uint8_t, void (*)(void *)>;
inline Bytes bytes_for(uint64_t size)
{
    return {static_cast<uint8_t *>(std::aligned_alloc(4096, size)), std::free};
}

// Ends the program: a call that must succeed has not.
void require(pgq_status status, const char *what);

struct Parts {
    bool rangelock, ioshares, tiercache;
    int protection; // of tornpage
    bool kernel;    // the kernel's page cache, lock of the file and scheduler: none of ours
};

// A lock of a file's bytes; whole: of the file, whatever the bytes.
class FileLock
{
  public:
    explicit FileLock(bool whole);
    ~FileLock();
    FileLock(const FileLock &) = delete;

    void lock(pgq_rangelock_hold *hold, uint64_t offset, uint64_t size, pgq_rangelock_mode mode);
    void unlock(pgq_rangelock_hold *hold);

  private:
    pgq_rangelock *made = nullptr;
};

// Locks the bytes for as long as it lives.
struct Held {
    Held(FileLock &file, uint64_t offset, uint64_t size, pgq_rangelock_mode mode) : file(file)
    {
        file.lock(&hold, offset, size, mode);
    }
    ~Held()
    {
        file.unlock(&hold);
    }
    Held(const Held &) = delete;

    FileLock &file;
    pgq_rangelock_hold hold = {};
};

class Io
{
  public:
    Io(Device &device, const Parts &parts);
    ~Io();
    Io(const Io &) = delete;

    // As the file operations of tiercache.h. A write to the store is on its way when this returns, if ranges are locked;
    // it has its bytes until it ends. sync waits for what is on its way. At most MOST writes are.
    int64_t read(int file, void *bytes, uint64_t size, uint64_t offset);
    int64_t write(int file, const void *bytes, uint64_t size, uint64_t offset);
    int sync(int file);
    pgq_tiercache_files table();

    static constexpr size_t MOST = 64;

  private:
    struct Write {
        pgq_ioshares_io io = {};
        pgq_rangelock_hold hold = {};
        Bytes bytes{nullptr, std::free};
    };
    void start_engine(bool shares);
    bool perform(pgq_ioshares_io *io);
    void reap();

    Device &device;
    bool ranges;
    FileLock lock;
    std::vector<uint64_t> memory; // of the scheduler
    pgq_ioshares_engine *engine = nullptr;

    std::mutex mutex; // of all below
    std::condition_variable changed;
    std::deque<std::unique_ptr<Write>> on_the_way;
    bool failed = false, stopping = false;
    std::thread reaper;
};
} // namespace stack
