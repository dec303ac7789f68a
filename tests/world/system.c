/* SPDX-License-Identifier: PostgreSQL */
#include "../tests/world/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST = 1 << 20, DESCRIPTORS = 24, CACHED = 4096, DIRECT = 512 };

typedef struct descriptor {
    enum { CLOSED, A_FILE, AN_EVENT } is;
    int file;
    bool direct;
    uint64_t count;
} descriptor;

system_state the_system;
world *system_world;
system_row system_listener;
static disk *drive;
static uint32_t rates[SYSTEM_FAULTS];
static bool is_quiet;
static unsigned refuse_in; /* so many allocations; 0: none is refused by its number */
static descriptor descriptors[DESCRIPTORS];
static bool cached[DISK_FILES][CACHED]; /* by 4 KiB: what a read that must not wait finds */

/* Half of the faults, each from often to rarely. */
void system_begin(world *w, disk *d, system_row row)
{
    system_world = w;
    drive = d;
    system_listener = row;
    the_system = (system_state){0};
    is_quiet = false;
    memset(descriptors, 0, sizeof descriptors);
    memset(cached, 0, sizeof cached);
    for (int fault = 0; fault < SYSTEM_FAULTS; fault++)
        rates[fault] = world_one_in(w, 2) ? (uint32_t)3 << world_below(w, 8) : 0;
}

void system_end(world *w)
{
    world_rings_end();
    if (the_system.rings != 0 || the_system.descriptors != 0 || the_system.allocations != 0)
        world_violation(w, "left behind: %d rings, %d descriptors, %ld allocations", the_system.rings,
                        the_system.descriptors, the_system.allocations);
    memset(rates, 0, sizeof rates);
    the_system = (system_state){0};
    system_world = NULL;
}

void system_quiet(bool quiet)
{
    is_quiet = quiet;
}

bool system_comes(system_fault fault)
{
    return rates[fault] != 0 && !is_quiet && world_one_in(system_world, rates[fault]);
}

/* ---- memory and threads ---- */

void *world_memcpy(void *to, const void *from, size_t size)
{
    size_t half = size / 2;

    memcpy(to, from, half);
    if (size >= 4096)
        world_yield();
    memcpy((char *)to + half, (const char *)from + half, size - half);
    return to;
}

static void *counted(void *bytes)
{
    the_system.allocations += bytes != NULL;
    return bytes;
}

static bool no_memory(void)
{
    bool none = refuse_in == 1 || system_comes(SYSTEM_NO_MEMORY);

    refuse_in -= refuse_in > 0;
    the_system.no_memory += none;
    return none;
}

unsigned system_refuse_each(world *w, pgq_code (*call)(void *context), void *context)
{
    pgq_code said = PGQ_MEMORY;
    unsigned refused = 0;

    while (said == PGQ_MEMORY && !w->violated) {
        long kept = the_system.allocations;
        refuse_in = refused + 1;
        said = call(context);
        bool asked = refuse_in == 0;
        refuse_in = 0;
        if (said != (asked ? PGQ_MEMORY : PGQ_OK))
            world_violation(w, "allocation %u %s, and a call says %d", refused + 1,
                            asked ? "was refused" : "was never asked for", (int)said);
        if (the_system.allocations != kept)
            world_violation(w, "allocation %u was refused, and %ld are left behind", refused + 1,
                            the_system.allocations - kept);
        refused += asked;
    }
    return refused;
}

void *world_malloc(size_t size)
{
    return no_memory() ? NULL : counted(malloc(size));
}

void *world_calloc(size_t n, size_t size)
{
    return no_memory() ? NULL : counted(calloc(n, size));
}

void *world_realloc(void *bytes, size_t size)
{
    if (no_memory())
        return NULL;
    return bytes == NULL ? counted(malloc(size)) : realloc(bytes, size);
}

void *world_aligned_alloc(size_t alignment, size_t size)
{
    return no_memory() ? NULL : counted(aligned_alloc(alignment, size));
}

void world_free(void *bytes)
{
    the_system.allocations -= bytes != NULL;
    free(bytes);
}

int world_kernel_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    if (system_comes(SYSTEM_NO_THREAD)) {
        the_system.no_thread++;
        return EAGAIN;
    }
    return world_thread_create(thread, body, argument);
}

/* ---- descriptors ---- */

static descriptor *open_one(int fd)
{
    return fd >= FIRST && fd < FIRST + DESCRIPTORS && descriptors[fd - FIRST].is != CLOSED
               ? &descriptors[fd - FIRST]
               : NULL;
}

static bool is_real(int fd)
{
    return fd >= 0 && fd < FIRST;
}

static int fails(int error)
{
    errno = error;
    return -1;
}

static int made(descriptor d)
{
    for (int i = 0; i < DESCRIPTORS; i++)
        if (descriptors[i].is == CLOSED) {
            descriptors[i] = d;
            the_system.descriptors++;
            return FIRST + i;
        }
    return fails(EMFILE);
}

static bool no_descriptor(void)
{
    static const int errors[] = {EMFILE, ENFILE, ENOMEM, EIO};

    if (!system_comes(SYSTEM_NO_DESCRIPTOR))
        return false;
    the_system.no_descriptor = errno = errors[world_below(system_world, 4)];
    return true;
}

int system_open(int file)
{
    return made((descriptor){.is = A_FILE, .file = file});
}

/* Of a simulated file it is its name in /proc. */
int world_open(const char *path, int flags)
{
    int fd;

    if (sscanf(path, "/proc/self/fd/%d", &fd) != 1 || is_real(fd))
        return open(path, flags);
    const descriptor *d = open_one(fd);
    if (d == NULL || d->is != A_FILE)
        return fails(ENOENT);
    if (no_descriptor())
        return -1;
    return made((descriptor){.is = A_FILE, .file = d->file, .direct = (flags & O_DIRECT) != 0});
}

int world_close(int fd)
{
    descriptor *d = open_one(fd);

    if (is_real(fd))
        return close(fd);
    if (d == NULL) {
        world_violation(system_world, "a descriptor is closed that is not open");
        return fails(EBADF);
    }
    d->is = CLOSED;
    the_system.descriptors--;
    return 0;
}

int world_fstat(int fd, struct stat *found)
{
    const descriptor *d = open_one(fd);

    if (is_real(fd))
        return fstat(fd, found);
    if (d == NULL)
        return fails(EBADF);
    if (no_descriptor())
        return -1;
    *found = (struct stat){.st_mode = S_IFREG, .st_size = (off_t)drive->files[d->file].cache_size};
    return 0;
}

/* ---- reads and writes ---- */

static bool is_cached(int file, uint64_t offset)
{
    return offset / 4096 < CACHED && cached[file][offset / 4096];
}

static void now_cached(int file, uint64_t size, uint64_t offset)
{
    for (uint64_t at = offset / 4096; at < (offset + size + 4095) / 4096 && at < CACHED; at++)
        cached[file][at] = true;
}

static int64_t failed_transfer(bool write)
{
    static const int errors[] = {EIO, EIO, ENXIO, EAGAIN};

    if (write && drive->operations < drive->full_until)
        return -ENOSPC;
    return -errors[world_below(system_world, 4)];
}

static int64_t moved(const descriptor *d, const system_request *r)
{
    int64_t n;

    if (d->direct && ((uintptr_t)r->buffer | r->size | r->offset) % DIRECT != 0)
        return -EINVAL;
    if (system_comes(SYSTEM_INTERRUPTS))
        return r->by_ring && world_one_in(system_world, 3) ? -EAGAIN : -EINTR;
    n = r->write ? disk_write(drive, d->file, r->buffer, r->size, r->offset)
                 : disk_read(drive, d->file, r->buffer, r->size, r->offset);
    if (n > 0 && !d->direct)
        now_cached(d->file, (uint64_t)n, r->offset);
    return n < 0 ? failed_transfer(r->write) : n;
}

void system_serve(void)
{
    if (world_one_in(system_world, 2))
        world_serve(world_below(system_world, 2000000));
}

void system_look_for_idleness(void)
{
    if (system_listener.idle != NULL && world_others_sleep())
        system_listener.idle(system_listener.context);
}

int64_t system_transfer(int fd, bool write, void *buffer, uint64_t size, uint64_t offset, bool by_ring)
{
    const descriptor *d = open_one(fd);
    bool good = d != NULL && d->is == A_FILE;
    system_request r = {good ? d->file : -1, write, good && d->direct, by_ring, buffer, size, offset, -EBADF};

    if (!by_ring)
        the_system.doing++;
    if (the_system.doing > the_system.most_doing)
        the_system.most_doing = the_system.doing;
    if (!by_ring) {
        system_serve();
        system_look_for_idleness();
    }
    if (good)
        r.result = moved(d, &r);
    the_system.doing--;
    world_says(system_world, "  %s%s %llu bytes at %llu of file %d: %lld", by_ring ? "ring: " : "",
               write ? "write" : "read", (unsigned long long)size, (unsigned long long)offset, r.file,
               (long long)r.result);
    if (system_listener.told != NULL)
        system_listener.told(system_listener.context, &r);
    return r.result;
}

static ssize_t answer(int64_t result)
{
    return result < 0 ? fails((int)-result) : (ssize_t)result;
}

ssize_t world_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return is_real(fd) ? pread(fd, buffer, size, offset)
                       : answer(system_transfer(fd, false, buffer, size, (uint64_t)offset, false));
}

ssize_t world_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
    return is_real(fd)
               ? pwrite(fd, buffer, size, offset)
               : answer(system_transfer(fd, true, (void *)(uintptr_t)buffer, size, (uint64_t)offset, false));
}

/* Must not wait: what is in the cache, a part of it too, or EAGAIN. */
ssize_t world_preadv2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
    const descriptor *d = open_one(fd);
    size_t size = parts->iov_len, some = 0;

    if (is_real(fd))
        return preadv2(fd, parts, n, offset, flags);
    if (d == NULL || n != 1)
        return fails(EBADF);
    while (some < size && is_cached(d->file, (uint64_t)offset + some) && !world_one_in(system_world, 20))
        some += 4096;
    if (some == 0) {
        world_yield();
        return fails(world_one_in(system_world, 8) ? EOPNOTSUPP : EAGAIN);
    }
    return answer(
        system_transfer(fd, false, parts->iov_base, some < size ? some : size, (uint64_t)offset, false));
}

int world_fadvise(int fd, off_t offset, off_t size, int advice)
{
    const descriptor *d = open_one(fd);

    if (is_real(fd))
        return posix_fadvise(fd, offset, size, advice);
    if (d == NULL)
        return EBADF;
    world_yield();
    if (advice != POSIX_FADV_WILLNEED || offset % 8192 != 0 || size != 8192)
        world_violation(system_world, "advice %d for %lld bytes at %lld", advice, (long long)size,
                        (long long)offset);
    if (world_one_in(system_world, 2))
        now_cached(d->file, (uint64_t)size, (uint64_t)offset);
    return world_one_in(system_world, 8) ? EINVAL : 0;
}

/* ---- events and time ---- */

uint64_t *system_event(int fd)
{
    descriptor *d = open_one(fd);

    return d != NULL && d->is == AN_EVENT ? &d->count : NULL;
}

int world_eventfd(unsigned count, int flags)
{
    (void)flags;
    return no_descriptor() ? -1 : made((descriptor){.is = AN_EVENT, .count = count});
}

int world_eventfd_read(int fd, eventfd_t *count)
{
    uint64_t *event = system_event(fd);

    if (event == NULL)
        return fails(EBADF);
    world_yield();
    while (*event == 0)
        world_wait(event);
    *count = *event;
    *event = 0;
    return 0;
}

int world_eventfd_write(int fd, eventfd_t count)
{
    uint64_t *event = system_event(fd);

    if (event == NULL)
        return fails(EBADF);
    *event += count;
    world_wake(event);
    world_kernel_may_go_on();
    world_yield();
    return 0;
}

int world_nanosleep(const struct timespec *time, struct timespec *left)
{
    uint64_t length = (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;

    (void)left;
    the_system.slept += length;
    world_sleep(length);
    return 0;
}

/* ---- liburing ---- */

static char liburing;

void *world_dlopen(const char *name, int flags)
{
    if (system_world == NULL || strncmp(name, "liburing", 8) != 0)
        return dlopen(name, flags);
    if (!system_comes(SYSTEM_NO_RING))
        return &liburing;
    the_system.no_ring = -1;
    return NULL;
}

void *world_dlsym(void *library, const char *name)
{
    return library == &liburing ? world_ring_function(name) : dlsym(library, name);
}
