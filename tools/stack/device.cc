// SPDX-License-Identifier: PostgreSQL
#include "device.h"

#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace stack
{
namespace
{
// A cloud volume; a local SSD; the log on a volume of its own, as fast as the first one.
constexpr Service VOLUME = {500, 1000, 256}, LOCAL_SSD = {80, 200, 1000};

Device *current;

Service service_of(File file)
{
    return file == SSD ? LOCAL_SSD : VOLUME;
}

int open_file(const std::string &folder, int file, bool cached)
{
    if (folder.empty())
        return memfd_create(FILE_NAMES[file], 0);
    std::string path = folder + "/" + FILE_NAMES[file];
    int flags = O_RDWR | O_CREAT | O_TRUNC;
    // The records of the log are not aligned as O_DIRECT asks for; some file systems lack it.
    bool direct = !cached && (file == STORE || file == SSD);
    int fd = open(path.c_str(), direct ? flags | O_DIRECT : flags, 0600);
    return fd >= 0 ? fd : open(path.c_str(), flags, 0600);
}
} // namespace

Device::Device(const std::string &folder, uint64_t store_bytes, bool cached)
{
    for (int file = 0; file < FILES; file++)
        if ((fds[file] = open_file(folder, file, cached)) < 0)
            throw std::runtime_error(folder + "/" + FILE_NAMES[file] + " cannot be made");
    if (ftruncate(fds[STORE], static_cast<off_t>(store_bytes)) != 0)
        throw std::runtime_error("the store cannot be extended");
    current = this;
}

Device::~Device()
{
    current = nullptr;
    for (int fd : fds)
        close(fd);
}

Device *Device::of(int fd, File *file)
{
    for (int f = 0; current != nullptr && f < FILES; f++)
        if (current->fds[f] == fd) {
            *file = static_cast<File>(f);
            return current;
        }
    return nullptr;
}

double Device::time_of(File file, size_t bytes) const
{
    Service service = service_of(file);
    return service.request + static_cast<double>(bytes) / service.bytes_a_microsecond;
}

double Device::time_of_sync(File file) const
{
    return service_of(file).sync;
}

// The store serves eight requests side by side, the others as many as come.
void Device::serve(File file, double microseconds)
{
    if (!simulated)
        return;
    if (file == STORE)
        servers.acquire();
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
    if (file == STORE)
        servers.release();
}
} // namespace stack

extern "C" {
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __real_fdatasync(int fd);

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    stack::File file;
    if (stack::Device *device = stack::Device::of(fd, &file)) {
        device->counts[file].reads++;
        device->counts[file].bytes_read += size;
        device->serve(file, device->time_of(file, size));
    }
    return __real_pread(fd, bytes, size, offset);
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    stack::File file;
    if (stack::Device *device = stack::Device::of(fd, &file)) {
        device->counts[file].writes++;
        device->counts[file].bytes_written += size;
        // A write to the log waits in memory for the sync.
        if (file == stack::STORE || file == stack::SSD)
            device->serve(file, device->time_of(file, size));
    }
    return __real_pwrite(fd, bytes, size, offset);
}

int __wrap_fdatasync(int fd)
{
    stack::File file;
    if (stack::Device *device = stack::Device::of(fd, &file)) {
        device->counts[file].syncs++;
        device->serve(file, device->time_of_sync(file));
    }
    return __real_fdatasync(fd);
}
}
