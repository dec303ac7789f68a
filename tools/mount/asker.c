/* SPDX-License-Identifier: PostgreSQL */
#include "asker.h"

#include "figures.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KNOWN UINT64_C(1000000000) /* ns */

const char *const asker_names[] = {
#define X(asker, name, share) name,
    ASKERS_OF(X)
#undef X
};

static _Thread_local asker asking = WRITEBACK;

static struct known {
    pid_t pid;
    asker asker;
    uint64_t until;
} table[1 << 10];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/*
 * "postgres: checkpointer ", or with a cluster_name "postgres: main: checkpointer ". I/O workers and the startup process work
 * for whoever waits: backends. So is anybody who is no server's process.
 */
static asker of_title(const char *title)
{
    static const struct {
        const char *begin;
        asker asker;
    } titles[] = {
        {"checkpointer", CHECKPOINTER}, {"autovacuum ", AUTOVACUUM}, {"background writer", WRITEBACK}};

    for (int words = 0; words < 2 && (title = strstr(title, ": ")) != NULL; words++) {
        title += 2;
        for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++)
            if (begins(title, titles[i].begin))
                return titles[i].asker;
    }
    return BACKEND;
}

static asker look_up(pid_t pid)
{
    char path[64], title[256];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, title, sizeof(title) - 1);
    if (fd >= 0)
        close(fd);
    title[n > 0 ? n : 0] = '\0';
    return begins(title, "postgres: ") ? of_title(title) : BACKEND;
}

void asker_is(pid_t pid)
{
    struct known *at = &table[(size_t)pid % (sizeof(table) / sizeof(*table))];
    uint64_t now = figures_clock();

    pthread_mutex_lock(&mutex);
    struct known found = *at;
    pthread_mutex_unlock(&mutex);
    if (found.pid != pid || found.until < now) {
        found = (struct known){pid, pid > 0 ? look_up(pid) : BACKEND, now + KNOWN};
        pthread_mutex_lock(&mutex);
        *at = found;
        pthread_mutex_unlock(&mutex);
    }
    asking = found.asker;
}

void asker_is_mount(void)
{
    asking = WRITEBACK;
}

asker asker_now(void)
{
    return asking;
}
