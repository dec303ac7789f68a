/* SPDX-License-Identifier: PostgreSQL */
/*
 * cut: LD_PRELOAD library that lets a server stand still before it cuts a file. Never for a server with data of value.
 *
 *   LD_PRELOAD=/path/to/cut.so, PGQUERN_CUT=ARM
 *
 * Once a file of the path ARM exists, who is about to cut a file stands still (SIGSTOP), and who sleeps for 10 ms, with nothing else to
 * wait for, appends its process id to that file: so a checkpoint waits that must not end yet.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_MICROSECONDS = 10000 };

#define EXPORT __attribute__((visibility("default")))
EXPORT int ftruncate(int fd, off_t size);
EXPORT int ftruncate64(int fd, off_t size);
EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time);

/* The file ARM, to be appended to; -1 as long as there is none. */
static int armed(void)
{
    const char *path = getenv("PGQUERN_CUT");

    return path == NULL ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

int ftruncate(int fd, off_t size)
{
    int arm = armed();

    if (arm >= 0) {
        close(arm);
        raise(SIGSTOP);
    }
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return ftruncate(fd, size);
}

int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time)
{
    if (count == 0 && time != NULL && time->tv_sec == 0 && time->tv_usec == NAP_MICROSECONDS) {
        int arm = armed();

        if (arm >= 0) {
            dprintf(arm, "%d\n", (int)getpid());
            close(arm);
        }
    }
    if (time == NULL)
        return (int)syscall(SYS_pselect6, count, reads, writes, others, NULL, NULL);

    struct timespec left = {time->tv_sec, time->tv_usec * 1000};
    int found = (int)syscall(SYS_pselect6, count, reads, writes, others, &left, NULL);

    /* As select does, which tells what is left of the time. */
    time->tv_sec = left.tv_sec;
    time->tv_usec = left.tv_nsec / 1000;
    return found;
}
