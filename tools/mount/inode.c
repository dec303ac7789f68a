/* SPDX-License-Identifier: PostgreSQL */
#include "inode.h"

#include "asker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static inode *table[1 << 14];

/* ---- what a name is ---- */

static const char *digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

/* 16384, 16384.1, 16384_fsm, 16384_vm.2, 16384_init. A temporary relation (t3_16384) needs no protection. */
static bool is_relation_name(const char *name)
{
    static const char *const forks[] = {"_fsm", "_vm", "_init"};
    const char *end = digits(name);

    if (end == name)
        return false;
    for (size_t i = 0; i < sizeof(forks) / sizeof(*forks); i++)
        if (strncmp(end, forks[i], strlen(forks[i])) == 0) {
            end += strlen(forks[i]);
            break;
        }
    if (*end == '.' && digits(end + 1) != end + 1)
        end = digits(end + 1);
    return *end == '\0';
}

bool is_relation(const inode *parent, const char *name)
{
    return parent->kind == DATABASE && is_relation_name(name);
}

kind kind_of(const inode *parent, const char *name, mode_t mode)
{
    bool number = *name != '\0' && *digits(name) == '\0';

    if (S_ISREG(mode))
        return is_relation(parent, name) ? RELATION : PLAIN;
    if (S_ISLNK(mode))
        return parent->kind == SPACES ? SPACE_LINK : PLAIN;
    if (parent->kind == ROOT)
        return strcmp(name, "base") == 0        ? DATABASES
               : strcmp(name, "global") == 0    ? DATABASE
               : strcmp(name, "pg_tblspc") == 0 ? SPACES
                                                : PLAIN;
    if (parent->kind == DATABASES)
        return number ? DATABASE : PLAIN;
    return strncmp(name, "PG_", 3) == 0 ? DATABASES : PLAIN;
}

/* ---- the table ---- */

static inode **place_of(dev_t dev, ino_t ino)
{
    inode **at = &table[(ino * 0x9E3779B97F4A7C15u >> 40) % (sizeof(table) / sizeof(*table))];

    while (*at != NULL && ((*at)->ino != ino || (*at)->dev != dev))
        at = &(*at)->next;
    return at;
}

inode *inode_get(int fd, const struct stat *s, kind kind)
{
    pthread_mutex_lock(&mutex);
    inode **at = place_of(s->st_dev, s->st_ino), *i = *at;
    if (i != NULL) {
        close(fd);
    } else if ((i = calloc(1, sizeof(*i))) != NULL) {
        *i = (inode){.dev = s->st_dev, .ino = s->st_ino, .fd = fd, .kind = kind};
        *at = i;
    } else {
        close(fd);
    }
    if (i != NULL)
        i->lookups++;
    pthread_mutex_unlock(&mutex);
    return i;
}

/* Pages are written back while the lookups are still counted: so nobody else can end the inode meanwhile. */
void inode_forget(inode *i, uint64_t lookups)
{
    pthread_mutex_lock(&mutex);
    bool last = i->lookups == lookups;
    pthread_mutex_unlock(&mutex);
    /* Nobody has it open: the kernel holds a lookup for who has. */
    asker_is_mount();
    if (last && i->pages != NULL && pages_flush(i->pages) != 0)
        last = false; /* its pages must not be lost: it stays */
    pthread_mutex_lock(&mutex);
    i->lookups -= lookups;
    if (i->lookups == 0 && last && (i->pages == NULL || pages_close(i->pages))) {
        *place_of(i->dev, i->ino) = i->next;
        close(i->fd);
        free(i);
    }
    pthread_mutex_unlock(&mutex);
}

int inode_pages(inode *i, relfile **pages)
{
    char path[64];
    int failed = 0;

    pthread_mutex_lock(&mutex);
    if (i->pages == NULL) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", i->fd);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        failed = fd < 0 ? -errno : pages_open(fd, &i->pages);
        if (failed != 0 && fd >= 0)
            close(fd);
    }
    *pages = i->pages;
    pthread_mutex_unlock(&mutex);
    return failed;
}
