/* SPDX-License-Identifier: PostgreSQL */
/*
 * The program: start, signals, end. `pgquern mount` runs it, and knows the options:
 *   pgquern-mount DATA MOUNTPOINT double-write|none MEGABYTES direct|through background|foreground SHARES
 *       [CACHE_MEGABYTES [SSD SSD_MEGABYTES]]
 *   pgquern-mount DATA    repairs it after a crash, and puts PG_VERSION back
 */
#include "area.h"
#include "cache.h"
#include "fs.h"
#include "guard.h"
#include "io.h"
#include "mount.h"
#include "pages.h"
#include "write_back.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

mount_options options;
struct counters counts;

/* ---- what it says ---- */

static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;
static char said[1024] = "nothing";

void say(const char *format, ...)
{
    va_list list;

    pthread_mutex_lock(&saying);
    va_start(list, format);
    vsnprintf(said, sizeof(said), format, list);
    va_end(list);
    fprintf(stderr, "pgquern mount: %s\n", said);
    syslog(LOG_NOTICE, "%s", said);
    pthread_mutex_unlock(&saying);
}

const char *last_said(void)
{
    return said;
}

int write_all(int fd, const uint8_t *bytes, size_t size, uint64_t at)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, bytes + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

/* ---- the end ---- */

static int run(const char *const *command)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execvp(command[0], (char *const *)command);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As an ordinary user by the set-user-id program. lazily: though it is in use. */
static int unmount(bool lazily)
{
    if (umount2(options.mountpoint, lazily ? MNT_DETACH : 0) == 0)
        return 0;
    if (errno != EPERM)
        return -errno;
    const char *command[] = {"fusermount3", lazily ? "-uzq" : "-uq", "--", options.mountpoint, NULL};
    return run(command) == 0 ? 0 : -EBUSY;
}

static sigset_t signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

/* Once it is unmounted the loop of requests ends. Under a server it is not: that would lose its files. */
static void *wait_for_signals(void *data)
{
    sigset_t set = signals();

    for (int number;;) {
        if (sigwait(&set, &number) != 0)
            continue;
        int failed = unmount(false);
        if (failed == 0)
            return NULL;
        int pid = guard_server(*(const int *)data);
        if (pid != 0)
            say("%s stays mounted: server process %d runs on it; stop it (pg_ctl stop), then unmount again",
                options.mountpoint, pid);
        else
            say("%s stays mounted: %s; fuser -m shows who uses it", options.mountpoint, strerror(-failed));
    }
}

/* ---- the start ---- */

static const char *folder(const char *path)
{
    char *absolute = realpath(path, NULL);
    struct stat s;

    if (absolute == NULL || stat(absolute, &s) != 0 || !S_ISDIR(s.st_mode)) {
        fprintf(stderr, "pgquern mount: %s: %s: give a folder that is there\n", path,
                absolute == NULL ? strerror(errno) : "no folder");
        exit(2);
    }
    return absolute;
}

static bool is_within(const char *path, const char *top)
{
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void parse(int argc, char **argv)
{
    struct statvfs s;

    if (argc != 2 && argc != 8 && argc != 9 && argc != 11) {
        fprintf(stderr, "pgquern-mount: run pgquern mount, or pgquern unmount\n");
        exit(2);
    }
    options.data = folder(argv[1]);
    if (argc == 2)
        return;
    /* A mount whose program was killed is still there, and answers nobody; the kernel remembers what stat would say. */
    if (statvfs(argv[2], &s) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)) {
        options.mountpoint = argv[2];
        unmount(true);
    }
    options.mountpoint = folder(argv[2]);
    options.protect = strcmp(argv[3], "none") != 0;
    options.memory = strtoull(argv[4], NULL, 10) << 20;
    options.wal_direct = strcmp(argv[5], "through") != 0;
    options.foreground = strcmp(argv[6], "foreground") == 0;
    options.cache = argc > 8 ? strtoull(argv[8], NULL, 10) << 20 : 0;
    options.ssd = argc > 9 ? argv[9] : NULL;
    options.ssd_size = argc > 9 ? strtoull(argv[10], NULL, 10) << 20 : 0;
    if (io_shares(argv[7]) != 0)
        exit(2);
    if (is_within(options.data, options.mountpoint) || is_within(options.mountpoint, options.data) ||
        strchr(options.data, ',') != NULL) {
        fprintf(stderr,
                "pgquern mount: %s and %s: the mount point must lie outside the data directory, whose path "
                "has no comma\n",
                options.data, options.mountpoint);
        exit(2);
    }
}

static struct fuse_session *open_session(void)
{
    char all[PATH_MAX + 128];

    snprintf(all, sizeof(all), "fsname=%s,subtype=pgquern,default_permissions%s", options.data,
             geteuid() == 0 ? ",allow_other" : "");
    char *arguments[] = {"pgquern", "-o", all, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, arguments);
    struct fuse_session *session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations), NULL);
    if (session != NULL && fuse_session_mount(session, options.mountpoint) != 0) {
        fuse_session_destroy(session);
        session = NULL;
    }
    fuse_opt_free_args(&args);
    return session;
}

static int serve(int data)
{
    struct fuse_session *session = open_session();
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    pthread_t waits;
    int failed;

    if (session == NULL || config == NULL) {
        say("%s cannot be mounted: is /dev/fuse there, and the package fuse3? An ordinary user must own %s",
            options.data, options.mountpoint);
        guard_end(data);
        return 1;
    }
    sigset_t set = signals();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!options.foreground && fuse_daemonize(0) != 0)
        return 1;
    if ((failed = io_start()) != 0 || (failed = pages_start(data, options.memory)) != 0 ||
        (failed = cache_start()) != 0 ||
        (failed = -pthread_create(&waits, NULL, wait_for_signals, &data)) != 0) {
        say("no memory: %s", strerror(-failed));
        return 1;
    }
    fs_start(data);
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_max_threads(config, 64); /* those that wait for room must not keep readers out */
    failed = fuse_session_loop_mt(session, config);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    fuse_loop_cfg_destroy(config);
    if (write_back_stop() != 0) {
        say("%s: pages could not be written back, and are lost unless the server's log has them: mount it "
            "again",
            options.data);
        return 1;
    }
    cache_close();
    io_stop();
    return guard_end(data) != 0;
}

int main(int argc, char **argv)
{
    struct rlimit files;

    openlog("pgquern-mount", LOG_PID, LOG_DAEMON);
    umask(0);
    parse(argc, argv);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int data = open(options.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (data < 0) {
        say("%s: %s: mount as the user who owns the directory", options.data, strerror(errno));
        return 2;
    }
    if (options.cache != 0 && cache_open(pages_below, options.cache, options.ssd, options.ssd_size) != 0)
        return 2;
    if (guard_begin(data) != 0)
        return 2;
    return options.mountpoint == NULL ? guard_end(data) != 0 : serve(data);
}
