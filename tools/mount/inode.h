/* SPDX-License-Identifier: PostgreSQL */
/* The files that the kernel knows: each by an open descriptor, and what it is in a data directory. */
#ifndef PGQUERN_MOUNT_INODE_H
#define PGQUERN_MOUNT_INODE_H

#include "pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

typedef enum kind {
    PLAIN,      /* all that passes through */
    ROOT,       /* the data directory */
    SPACES,     /* pg_tblspc */
    SPACE_LINK, /* a link in it: to a folder that the mount must show, too */
    SHOWN,      /* where the mount shows these folders; no folder below */
    DATABASES,  /* base, and PG_MAJOR_CATALOG of a tablespace */
    DATABASE,   /* a folder of relation files */
    RELATION,   /* a file of pages */
    WAL_LINK,   /* pg_wal, shown as a link */
    STATUS      /* what --status reads; no file below */
} kind;

typedef struct inode {
    struct inode *next; /* in the table */
    dev_t dev;
    ino_t ino;
    int fd; /* O_PATH */
    kind kind;
    uint64_t lookups; /* that the kernel will forget */
    relfile *pages;   /* of a RELATION once it was opened */
} inode;

kind kind_of(const inode *parent, const char *name, mode_t mode);
/* Whether a file of this name, in this folder, has pages. */
bool is_relation(const inode *parent, const char *name);

/* The inode of an O_PATH descriptor, which is then its own, or closed; looked up once more. NULL: no memory. */
inode *inode_get(int fd, const struct stat *s, kind kind);
/* The kernel forgets so many lookups. */
void inode_forget(inode *i, uint64_t lookups);
/* Its pages; opened at the first time. 0 or -errno. */
int inode_pages(inode *i, relfile **pages);

#endif
