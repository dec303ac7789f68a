// SPDX-License-Identifier: PostgreSQL
//
// What lies below the stack: files, whose reads, writes and syncs are counted where they leave the program. The linker
// sends pread, pwrite and fdatasync here (--wrap), those of the library too. A simulated volume makes the caller sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <string>

namespace stack
{
enum File { STORE, SSD, CONTROL, LOG, AREA, LOG_CONTROL, FILES };
inline constexpr const char *FILE_NAMES[FILES] = {"store", "ssd", "control", "log", "area", "log_control"};

struct Counts {
    std::atomic<uint64_t> reads, writes, syncs, bytes_read, bytes_written;
};

// Microseconds of a request and of a sync, and the bytes that move in one.
struct Service {
    double request, sync, bytes_a_microsecond;
};

class Device
{
  public:
    // Makes the files: in a folder, store and SSD past the kernel's page cache if the file system can, unless they are to
    // be `cached`; in memory if `folder` is empty.
    explicit Device(const std::string &folder, uint64_t store_bytes, bool cached);
    ~Device();
    Device(const Device &) = delete;

    int fds[FILES];
    Counts counts[FILES] = {};
    std::atomic<bool> simulated{false}; // the times; set once the files are made

    // The device that has this descriptor, and which of its files it is.
    static Device *of(int fd, File *file);
    void serve(File file, double microseconds);
    double time_of(File file, size_t bytes) const;
    double time_of_sync(File file) const;

  private:
    std::counting_semaphore<> servers{8};
};
} // namespace stack
