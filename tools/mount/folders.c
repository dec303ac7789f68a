/* SPDX-License-Identifier: PostgreSQL */
#include "folders.h"

#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct folder {
    dev_t dev;
    ino_t ino;
    int fd;
} * folders;
static size_t folder_count;

int folders_renamed(int folder)
{
    struct stat s;
    int failed = SYS(fstatat(folder, "", &s, AT_EMPTY_PATH));

    pthread_mutex_lock(&mutex);
    bool known = false;
    for (size_t i = 0; i < folder_count; i++)
        known |= folders[i].dev == s.st_dev && folders[i].ino == s.st_ino;
    if (failed == 0 && !known) {
        struct folder *more = realloc(folders, (folder_count + 1) * sizeof(*folders));
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        failed = fd < 0 ? -errno : more == NULL ? -ENOMEM : 0;
        if (more != NULL)
            folders = more;
        if (failed == 0)
            folders[folder_count++] = (struct folder){s.st_dev, s.st_ino, fd};
        else if (fd >= 0)
            close(fd);
    }
    pthread_mutex_unlock(&mutex);
    return failed;
}

int folders_sync(void)
{
    int failed = 0;

    pthread_mutex_lock(&mutex);
    while (failed == 0 && folder_count > 0)
        if ((failed = SYS(fsync(folders[folder_count - 1].fd))) == 0)
            close(folders[--folder_count].fd);
    pthread_mutex_unlock(&mutex);
    return failed;
}
