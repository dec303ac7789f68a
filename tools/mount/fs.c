/* SPDX-License-Identifier: PostgreSQL */
/*
 * All passes through to the data directory, except: relation files (pages.h); PG_VERSION, which has another name below
 * (guard.h); pg_wal, shown as a link so that the log does not come here at all; the links of tablespaces, which lead to
 * folders that are shown here, too. The kernel checks permissions (default_permissions), keeps locks and mapped files.
 */
#include "fs.h"

#include "guard.h"
#include "inode.h"
#include "mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SPACES_NAME ".pgquern-tblspc"
#define NEVER_ELSE  3600.0 /* seconds: a relation file changes by the kernel's own requests alone */

static inode root = {.kind = ROOT}, shown = {.kind = SHOWN, .ino = 1}, wal = {.kind = WAL_LINK, .ino = 2},
             status = {.kind = STATUS, .ino = 3};

static inode *of(fuse_ino_t ino)
{
    counts.requests++;
    return ino == FUSE_ROOT_ID ? &root : (inode *)(uintptr_t)ino;
}

static const char *proc_path(int fd, char path[64])
{
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return path;
}

static void reply(fuse_req_t req, int failed)
{
    fuse_reply_err(req, failed < 0 ? -failed : 0);
}

/* The name below. NULL: there is none of this name here. */
static const char *below(const inode *parent, const char *name)
{
    if (parent->kind != ROOT)
        return name;
    if (strcmp(name, "PG_VERSION") == 0)
        return GUARD_ASIDE;
    return guard_hides(name) ? NULL : name;
}

/* The new file is of whoever asks. */
static void as_asker(fuse_req_t req)
{
    if (geteuid() == 0) {
        setfsgid(fuse_req_ctx(req)->gid);
        setfsuid(fuse_req_ctx(req)->uid);
    }
}

static void as_self(void)
{
    if (geteuid() == 0) {
        setfsuid(0);
        setfsgid(0);
    }
}

/* ---- names and attributes ---- */

static int attributes(const inode *i, struct stat *s)
{
    if (i->kind != STATUS && i->kind != WAL_LINK)
        return fstatat(i->fd, "", s, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 ? -errno : 0;
    if (fstatat(root.fd, "", s, AT_EMPTY_PATH) != 0)
        return -errno;
    s->st_mode = i->kind == STATUS ? S_IFREG | 0444 : S_IFLNK | 0777;
    s->st_ino = i->ino;
    s->st_nlink = 1;
    s->st_size = 0;
    return 0;
}

/* Of a file that is there by its name: nothing is asked of the kernel of what is not below. */
static inode *special(const inode *parent, const char *name)
{
    struct stat s;

    if (parent->kind != ROOT)
        return NULL;
    if (strcmp(name, STATUS_NAME) == 0)
        return &status;
    if (strcmp(name, SPACES_NAME) == 0)
        return &shown;
    if (options.wal_direct && strcmp(name, "pg_wal") == 0 &&
        fstatat(root.fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode))
        return &wal;
    return NULL;
}

static int find(inode *parent, const char *name, struct fuse_entry_param *e)
{
    inode *i = special(parent, name);
    int failed;

    memset(e, 0, sizeof(*e));
    if (i == NULL) {
        const char *there = below(parent, name);
        if (there == NULL)
            return -ENOENT;
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s%s", parent->kind == SHOWN ? "pg_tblspc/" : "", there);
        int fd = openat(parent->fd, path, O_PATH | O_CLOEXEC | (parent->kind == SHOWN ? 0 : O_NOFOLLOW));
        if (fd < 0)
            return -errno;
        if (fstatat(fd, "", &e->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
            failed = -errno;
            close(fd);
            return failed;
        }
        kind k = options.protect ? kind_of(parent, name, e->attr.st_mode) : PLAIN;
        i = inode_get(fd, &e->attr, k);
        if (i == NULL)
            return -ENOMEM;
    } else if ((failed = attributes(i, &e->attr)) != 0) {
        return failed;
    }
    e->ino = (fuse_ino_t)(uintptr_t)i;
    e->attr_timeout = e->entry_timeout = i->kind == RELATION ? NEVER_ELSE : 1.0;
    return 0;
}

static void reply_entry(fuse_req_t req, inode *parent, const char *name, int failed)
{
    struct fuse_entry_param e;

    if (failed == 0)
        failed = find(parent, name, &e);
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_entry(req, &e);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    reply_entry(req, of(parent), name, 0);
}

static bool is_own(const inode *i)
{
    return i->kind == ROOT || i->kind == SHOWN || i->kind == WAL_LINK || i->kind == STATUS;
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    if (!is_own(of(ino)))
        inode_forget(of(ino), lookups);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < n; i++)
        if (!is_own(of(forgets[i].ino)))
            inode_forget(of(forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const inode *i = of(ino);
    struct stat s;
    int failed = attributes(i, &s);

    (void)fi;
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_attr(req, &s, i->kind == RELATION ? NEVER_ELSE : 1.0);
}

static int set_size(inode *i, off_t size, struct fuse_file_info *fi)
{
    char path[64];
    relfile *pages;

    if (i->kind == RELATION) {
        int failed = inode_pages(i, &pages);
        return failed != 0 ? failed : pages_truncate(pages, (uint64_t)size);
    }
    return (fi != NULL ? ftruncate((int)fi->fh, size) : truncate(proc_path(i->fd, path), size)) != 0 ? -errno
                                                                                                     : 0;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *s, int set, struct fuse_file_info *fi)
{
    inode *i = of(ino);
    char path[64];
    int failed = is_own(i) && i->kind != ROOT ? -EPERM : 0;

    if (failed == 0 && (set & FUSE_SET_ATTR_MODE) != 0 &&
        chmod(proc_path(i->fd, path), s->st_mode & 07777) != 0)
        failed = -errno;
    if (failed == 0 && (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0 &&
        fchownat(i->fd, "", (set & FUSE_SET_ATTR_UID) != 0 ? s->st_uid : (uid_t)-1,
                 (set & FUSE_SET_ATTR_GID) != 0 ? s->st_gid : (gid_t)-1,
                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
        failed = -errno;
    if (failed == 0 && (set & FUSE_SET_ATTR_SIZE) != 0)
        failed = set_size(i, s->st_size, fi);
    if (failed == 0 && (set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
        struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
        if ((set & FUSE_SET_ATTR_ATIME) != 0)
            times[0] = (set & FUSE_SET_ATTR_ATIME_NOW) != 0 ? (struct timespec){0, UTIME_NOW} : s->st_atim;
        if ((set & FUSE_SET_ATTR_MTIME) != 0)
            times[1] = (set & FUSE_SET_ATTR_MTIME_NOW) != 0 ? (struct timespec){0, UTIME_NOW} : s->st_mtim;
        if (utimensat(AT_FDCWD, proc_path(i->fd, path), times, 0) != 0)
            failed = -errno;
    }
    if (failed != 0)
        reply(req, failed);
    else
        op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    const inode *i = of(ino);
    char to[PATH_MAX + 64];
    size_t top = strlen(options.mountpoint);

    if (i->kind == WAL_LINK) {
        snprintf(to, sizeof(to), "%s/pg_wal", options.data);
        fuse_reply_readlink(req, to);
        return;
    }
    ssize_t n = readlinkat(i->fd, "", to, sizeof(to) - 1);
    if (n < 0) {
        reply(req, -errno);
        return;
    }
    to[n] = '\0';
    /* The name in pg_tblspc is the folder's there, too; what already leads here stays. */
    if (i->kind == SPACE_LINK && (strncmp(to, options.mountpoint, top) != 0 || to[top] != '/')) {
        char name[PATH_MAX], path[64];
        ssize_t length = readlink(proc_path(i->fd, path), name, sizeof(name) - 1);
        if (length < 0) {
            reply(req, -errno);
            return;
        }
        name[length] = '\0';
        snprintf(to, sizeof(to), "%.*s/" SPACES_NAME "/%.255s", PATH_MAX - 300, options.mountpoint,
                 strrchr(name, '/') + 1);
    }
    fuse_reply_readlink(req, to);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode)
{
    inode *parent = of(ino);
    const char *there = below(parent, name);
    struct fuse_entry_param e;
    bool is_wal = options.wal_direct && parent->kind == ROOT && strcmp(name, "pg_wal") == 0;

    as_asker(req);
    int failed = there == NULL ? -EEXIST : mkdirat(parent->fd, there, mode) != 0 ? -errno : 0;
    as_self();
    if (!is_wal || failed != 0) {
        reply_entry(req, parent, name, failed);
        return;
    }
    /* The kernel wants a folder as the answer; who asks next finds the link. */
    memset(&e, 0, sizeof(e));
    int fd = openat(parent->fd, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    inode *i = NULL;
    if (fd < 0 || fstatat(fd, "", &e.attr, AT_EMPTY_PATH) != 0 ||
        (i = inode_get(fd, &e.attr, PLAIN)) == NULL) {
        reply(req, -EIO);
        return;
    }
    e.ino = (fuse_ino_t)(uintptr_t)i;
    fuse_reply_entry(req, &e);
}

static void op_mknod(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode, dev_t dev)
{
    inode *parent = of(ino);
    const char *there = below(parent, name);

    as_asker(req);
    int failed = there == NULL ? -EEXIST : mknodat(parent->fd, there, mode, dev) != 0 ? -errno : 0;
    as_self();
    reply_entry(req, parent, name, failed);
}

static void op_symlink(fuse_req_t req, const char *to, fuse_ino_t ino, const char *name)
{
    inode *parent = of(ino);
    const char *there = below(parent, name);

    as_asker(req);
    int failed = there == NULL ? -EEXIST : symlinkat(to, parent->fd, there) != 0 ? -errno : 0;
    as_self();
    reply_entry(req, parent, name, failed);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_ino, const char *name)
{
    inode *i = of(ino), *parent = of(new_ino);
    const char *there = below(parent, name);
    char path[64];
    int failed = 0;

    if (there == NULL || is_own(i))
        failed = -EPERM;
    else if (linkat(AT_FDCWD, proc_path(i->fd, path), parent->fd, there, AT_SYMLINK_FOLLOW) != 0)
        failed = -errno;
    reply_entry(req, parent, name, failed);
}

/* A path is about to mean something else: the area forgets the file that it names now. pages_hold is on. */
static int forget_path(const inode *parent, const char *name)
{
    struct stat s;

    if (fstatat(parent->fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(s.st_mode))
        return pages_forget(0, 0);
    return pages_forget(s.st_dev, s.st_ino);
}

static void remove_name(fuse_req_t req, fuse_ino_t ino, const char *name, int flags)
{
    const inode *parent = of(ino);
    const char *there = below(parent, name);
    bool hold = is_relation(parent, name);
    int failed = 0;

    if (hold) {
        pages_hold();
        failed = forget_path(parent, name);
    }
    if (failed == 0)
        failed = there == NULL ? -ENOENT : unlinkat(parent->fd, there, flags) != 0 ? -errno : 0;
    if (hold)
        pages_release();
    reply(req, failed);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, 0);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, AT_REMOVEDIR);
}

static void op_rename(fuse_req_t req, fuse_ino_t from_ino, const char *name, fuse_ino_t to_ino,
                      const char *new_name, unsigned int flags)
{
    const inode *from = of(from_ino), *to = of(to_ino);
    const char *old = below(from, name), *fresh = below(to, new_name);
    struct stat s;
    int failed = old == NULL ? -ENOENT : fresh == NULL ? -EEXIST : 0;

    if (failed != 0) {
        reply(req, failed);
        return;
    }
    bool hold = is_relation(from, name) || is_relation(to, new_name) ||
                (fstatat(from->fd, old, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode));
    if (hold) {
        pages_hold();
        failed = forget_path(from, old);
        if (failed == 0)
            failed = forget_path(to, fresh);
    }
    if (failed == 0 && renameat2(from->fd, old, to->fd, fresh, flags) != 0)
        failed = -errno;
    if (hold)
        pages_release();
    reply(req, failed);
}

/* ---- files ---- */

static void reply_status(fuse_req_t req, size_t size, off_t at)
{
    char text[4096];
    int n = 0;
    pages_figures now = pages_now();

    n += snprintf(
        text + n, sizeof(text) - (size_t)n,
        "data %s\nmountpoint %s\nprotect %s\npg_wal %s\ndaemon %d\npages_dirty %llu\npages_of_memory %llu\n",
        options.data, options.mountpoint, options.protect ? "double-write" : "none",
        options.wal_direct ? "direct" : "through", (int)getpid(), (unsigned long long)now.dirty,
        (unsigned long long)now.most);
#define X(name)                                                                                              \
    n += snprintf(text + n, sizeof(text) - (size_t)n, #name " %llu\n", (unsigned long long)counts.name);
    COUNTERS(X)
#undef X
    n += snprintf(text + n, sizeof(text) - (size_t)n, "said_last %s\n", last_said());
    if (at >= n)
        fuse_reply_buf(req, NULL, 0);
    else
        fuse_reply_buf(req, text + at, size < (size_t)(n - at) ? size : (size_t)(n - at));
}

/* Alignment that O_DIRECT asks for is not that of our buffers. */
static int flags_below(int flags)
{
    return (flags & ~(O_DIRECT | O_NOFOLLOW | O_EXCL)) | O_CLOEXEC;
}

static int open_inode(inode *i, struct fuse_file_info *fi)
{
    char path[64];
    relfile *pages;

    if (i->kind == STATUS) {
        fi->direct_io = 1;
        return 0;
    }
    if (i->kind != RELATION) {
        int fd = open(proc_path(i->fd, path), flags_below(fi->flags & ~O_CREAT));
        if (fd < 0)
            return -errno;
        fi->fh = (uint64_t)fd;
        return 0;
    }
    int failed = inode_pages(i, &pages);
    if (failed == 0 && (fi->flags & O_TRUNC) != 0)
        failed = pages_truncate(pages, 0);
    /* A request is then what the server asked for, whole pages in one piece. */
    fi->direct_io = 1;
    return failed;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    int failed = open_inode(of(ino), fi);

    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_open(req, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    inode *parent = of(ino);
    const char *there = below(parent, name);
    struct fuse_entry_param e;
    int fd = -1, failed = there == NULL || special(parent, name) != NULL ? -EEXIST : 0;

    if (failed == 0) {
        as_asker(req);
        fd = openat(parent->fd, there, (fi->flags & ~O_DIRECT) | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
        failed = fd < 0 ? -errno : find(parent, name, &e);
        as_self();
    }
    if (failed == 0 && ((inode *)(uintptr_t)e.ino)->kind == RELATION) {
        close(fd);
        fd = -1;
        failed = open_inode((inode *)(uintptr_t)e.ino, fi);
        if (failed != 0)
            inode_forget((inode *)(uintptr_t)e.ino, 1);
    }
    if (failed != 0) {
        if (fd >= 0)
            close(fd);
        reply(req, failed);
        return;
    }
    if (fd >= 0)
        fi->fh = (uint64_t)fd;
    fuse_reply_create(req, &e, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const inode *i = of(ino);

    if (i->kind != RELATION && i->kind != STATUS)
        close((int)fi->fh);
    reply(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
    inode *i = of(ino);

    if (i->kind == STATUS) {
        reply_status(req, size, at);
        return;
    }
    char *bytes = malloc(size);
    int64_t n = -ENOMEM;
    if (bytes != NULL && i->kind == RELATION)
        n = pages_read(i->pages, (uint8_t *)bytes, size, (uint64_t)at);
    else if (bytes != NULL && (n = pread((int)fi->fh, bytes, size, at)) < 0)
        n = -errno;
    if (n < 0)
        reply(req, (int)n);
    else
        fuse_reply_buf(req, bytes, (size_t)n);
    free(bytes);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t at,
                     struct fuse_file_info *fi)
{
    inode *i = of(ino);
    ssize_t n;

    if (i->kind == RELATION) {
        n = pages_write(i->pages, (const uint8_t *)bytes, size, (uint64_t)at);
        if (n == 0 && (fi->flags & O_DSYNC) != 0)
            n = pages_fsync(i->pages);
        n = n == 0 ? (ssize_t)size : n;
    } else if ((n = pwrite((int)fi->fh, bytes, size, at)) < 0) {
        n = -errno;
    }
    if (n < 0)
        reply(req, (int)n);
    else
        fuse_reply_write(req, (size_t)n);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    inode *i = of(ino);

    if (i->kind == RELATION)
        reply(req, pages_fsync(i->pages));
    else
        reply(req, (datasync ? fdatasync((int)fi->fh) : fsync((int)fi->fh)) != 0 ? -errno : 0);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t size,
                         struct fuse_file_info *fi)
{
    inode *i = of(ino);

    if (i->kind == RELATION)
        reply(req, pages_allocate(i->pages, mode, (uint64_t)at, (uint64_t)size));
    else
        reply(req, fallocate((int)fi->fh, mode, at, size) != 0 ? -errno : 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs s;

    (void)of(ino);
    if (fstatvfs(root.fd, &s) != 0)
        reply(req, -errno);
    else
        fuse_reply_statfs(req, &s);
}

/* ---- folders ---- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const inode *i = of(ino);
    int fd = openat(i->fd, i->kind == SHOWN ? "pg_tblspc" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        reply(req, -errno);
        if (fd >= 0)
            close(fd);
        return;
    }
    fi->fh = (uint64_t)(uintptr_t)dir;
    fuse_reply_open(req, fi);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
    const inode *i = of(ino);
    DIR *dir = (DIR *)(uintptr_t)fi->fh;
    char *bytes = malloc(size);
    size_t did = 0;
    int failed = bytes == NULL ? -ENOMEM : 0;

    if (at != telldir(dir))
        seekdir(dir, at);
    while (failed == 0) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (d == NULL) {
            failed = -errno;
            break;
        }
        const char *name = d->d_name;
        if (i->kind == ROOT && strcmp(name, GUARD_ASIDE) == 0)
            name = "PG_VERSION";
        else if (i->kind == ROOT && guard_hides(name))
            continue;
        bool is_link = special(i, name) == &wal;
        struct stat s = {.st_ino = d->d_ino, .st_mode = is_link ? S_IFLNK : (mode_t)d->d_type << 12};
        size_t needs = fuse_add_direntry(req, bytes + did, size - did, name, &s, d->d_off);
        if (needs > size - did)
            break;
        did += needs;
    }
    if (failed != 0 && did == 0)
        reply(req, failed);
    else
        fuse_reply_buf(req, bytes, did);
    free(bytes);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)of(ino);
    closedir((DIR *)(uintptr_t)fi->fh);
    reply(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)of(ino);
    (void)datasync;
    reply(req, fsync(dirfd((DIR *)(uintptr_t)fi->fh)) != 0 ? -errno : 0);
}

static void op_init(void *self, struct fuse_conn_info *conn)
{
    (void)self;
    conn->max_write = 1 << 20;
    conn->max_readahead = 1 << 20;
}

void fs_start(int data)
{
    root.fd = shown.fd = wal.fd = status.fd = data;
}

/* What is not here (copy_file_range, locks, SEEK_HOLE, lists of attributes) the kernel does by itself, or says that it is not. */
const struct fuse_lowlevel_ops fs_operations = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .readlink = op_readlink,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .unlink = op_unlink,
    .rmdir = op_rmdir,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
    .open = op_open,
    .create = op_create,
    .read = op_read,
    .write = op_write,
    .release = op_release,
    .fsync = op_fsync,
    .fallocate = op_fallocate,
    .statfs = op_statfs,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .releasedir = op_releasedir,
    .fsyncdir = op_fsyncdir,
};
