/* SPDX-License-Identifier: PostgreSQL */
#include "guard.h"

#include "area.h"
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char EXPLANATION[] =
    "This data directory is mounted by `pgquern mount`, or was when the machine or the program stopped.\n"
    "Until it is unmounted its newest pages may be elsewhere, and no server may start on it: PG_VERSION is "
    "put aside.\n"
    "\n"
    "  pgquern mount DATA MOUNTPOINT   mounts it again, and repairs what a crash has left; the server runs "
    "on MOUNTPOINT\n"
    "  pgquern unmount DATA            unmounts it, or repairs it after a crash; then it is an ordinary data "
    "directory\n"
    "\n"
    "Never rename PG_VERSION back by hand: a page that the crash has torn would stay torn.\n";

static bool is_there(int data, const char *name)
{
    return faccessat(data, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool guard_hides(const char *name)
{
    return strcmp(name, GUARD_ASIDE) == 0 || strcmp(name, GUARD_README) == 0 || strcmp(name, AREA_NAME) == 0;
}

int guard_server(int data)
{
    char text[64] = "", path[64];
    int fd = openat(data, "postmaster.pid", O_RDONLY | O_CLOEXEC), pid = 0;

    if (fd >= 0) {
        if (read(fd, text, sizeof(text) - 1) > 0)
            pid = abs(atoi(text));
        close(fd);
    }
    /* After a restart of the machine the number may be that of anybody. */
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    memset(text, 0, sizeof(text));
    bool is_postgres = read(fd, text, sizeof(text) - 1) > 0 && strncmp(text, "postgres", 8) == 0;
    close(fd);
    return is_postgres ? pid : 0;
}

/* A batch is written in place only if no server has run on the directory since. */
static int recover(int data)
{
    bool aside = is_there(data, GUARD_ASIDE), back = is_there(data, "PG_VERSION");
    uint64_t repaired;
    int failed = aside && back ? -EEXIST : area_recover(data, !back, &repaired);

    if (failed == -EEXIST) {
        say("%s was mounted when it crashed, and PG_VERSION was put back by hand. If no server has run on it "
            "since, rename "
            "PG_VERSION to " GUARD_ASIDE
            " and mount again: pages are repaired. If one has, its pages are newer: remove " AREA_NAME
            " and " GUARD_ASIDE ", and check the cluster (pg_amcheck, pg_checksums)",
            options.data);
        return failed;
    }
    if (failed == 0)
        failed = area_open(data);
    if (failed != 0) {
        say("%s cannot be recovered: %s; mend that and try again", options.data, strerror(-failed));
        return failed;
    }
    counts.repaired_at_mount = repaired;
    if (repaired > 0)
        say("%s was not unmounted: %llu pages of the double-write area are in their place again",
            options.data, (unsigned long long)repaired);
    return 0;
}

static int write_readme(int data)
{
    int fd = openat(data, GUARD_README, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

    if (fd < 0)
        return -errno;
    int failed = write(fd, EXPLANATION, sizeof(EXPLANATION) - 1) < 0 || fsync(fd) != 0 ? -errno : 0;
    close(fd);
    return failed;
}

int guard_begin(int data)
{
    int failed, pid;

    if (flock(data, LOCK_EX | LOCK_NB) != 0) {
        failed = -errno;
        say("%s is mounted already: findmnt -t fuse.pgquern shows where; pgquern unmount ends that",
            options.data);
        return failed;
    }
    if ((pid = guard_server(data)) != 0) {
        say("a server, process %d, runs on %s: stop it first (pg_ctl stop)", pid, options.data);
        return -EBUSY;
    }
    if ((failed = recover(data)) != 0)
        return failed;
    failed = write_readme(data);
    if (failed == 0 && is_there(data, "PG_VERSION"))
        failed = SYS(renameat(data, "PG_VERSION", data, GUARD_ASIDE));
    if (failed == 0)
        failed = SYS(fsync(data));
    if (failed != 0)
        say("%s: PG_VERSION cannot be put aside: %s; mount as the user who owns the directory", options.data,
            strerror(-failed));
    return failed;
}

int guard_end(int data)
{
    int failed = SYS(syncfs(data));

    if (failed == 0)
        failed = area_remove(data);
    if (failed == 0 && is_there(data, GUARD_ASIDE))
        failed = SYS(renameat(data, GUARD_ASIDE, data, "PG_VERSION"));
    if (failed == 0)
        failed = SYS(unlinkat(data, GUARD_README, 0));
    if (failed == 0)
        failed = SYS(fsync(data));
    if (failed != 0)
        say("%s: PG_VERSION cannot be put back: %s; mend that, then pgquern unmount again", options.data,
            strerror(-failed));
    return failed;
}
