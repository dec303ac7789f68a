/* SPDX-License-Identifier: PostgreSQL */
/*
 * All passes through to the data directory, except: relation files (pages.h); PG_VERSION, which has another name below
 * (guard.h); pg_wal, shown as a link so that the log does not come here at all; the links of tablespaces, which lead to
 * folders that are shown here, too. The kernel checks permissions (default_permissions), keeps locks and mapped files.
 */
#include "fs.h"

#include "asker.h"
#include "figures.h"
#include "folders.h"
#include "guard.h"
#include "inode.h"
#include "io.h"
#include "mount.h"
#include "write_back.h"

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

/* Each operation begins so: from now on its thread works for who asks. */
static inode *of(fuse_req_t req, fuse_ino_t ino)
{
    counts.requests++;
    asker_is(fuse_req_ctx(req)->pid);
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

/* The name below; what is hidden has one that nothing has. */
static const char *below(const inode *parent, const char *name)
{
    if (parent->kind != ROOT)
        return name;
    return strcmp(name, "PG_VERSION") == 0 ? GUARD_ASIDE : guard_hides(name) ? "" : name;
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
        return SYS(fstatat(i->fd, "", s, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
    if (fstatat(root.fd, "", s, AT_EMPTY_PATH) != 0)
        return -errno;
    s->st_mode = i->kind == STATUS ? S_IFREG | 0644 : S_IFLNK | 0777;
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

static bool is_shown_here(const char *path)
{
    size_t top = strlen(options.mountpoint);

    return strncmp(path, options.mountpoint, top) == 0 && path[top] == '/';
}

/* A tablespace's link that leads into the mount, as in a base backup of a server there: who followed it would wait for itself. */
static bool leads_here(const char *path)
{
    char to[PATH_MAX];
    ssize_t n = readlinkat(root.fd, path, to, sizeof(to) - 1);

    if (n < 0)
        return false;
    to[n] = '\0';
    if (is_shown_here(to))
        say("%s leads to %s, which is in the mount itself: let it lead to the tablespace's own folder", path,
            to);
    return is_shown_here(to);
}

/* fresh: it was made just now, and is shown as it was made; who asks next may find another one. */
static int find(inode *parent, const char *name, bool fresh, struct fuse_entry_param *e)
{
    inode *i = fresh ? NULL : special(parent, name);
    char path[PATH_MAX];
    int failed;

    memset(e, 0, sizeof(*e));
    if (i != NULL) {
        failed = attributes(i, &e->attr);
    } else {
        snprintf(path, sizeof(path), "%s%s", parent->kind == SHOWN ? "pg_tblspc/" : "", below(parent, name));
        if (parent->kind == SHOWN && leads_here(path))
            return -ELOOP;
        int fd = openat(parent->fd, path, O_PATH | O_CLOEXEC | (parent->kind == SHOWN ? 0 : O_NOFOLLOW));
        if (fd < 0)
            return -errno;
        failed = SYS(fstatat(fd, "", &e->attr, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
        if (failed != 0)
            close(fd);
        else if ((i = inode_get(fd, &e->attr,
                                options.protect ? kind_of(parent, name, e->attr.st_mode) : PLAIN)) == NULL)
            failed = -ENOMEM;
    }
    if (failed != 0)
        return failed;
    e->ino = (fuse_ino_t)(uintptr_t)i;
    e->attr_timeout = i->kind == RELATION ? NEVER_ELSE : 1.0;
    e->entry_timeout = fresh ? 0.0 : e->attr_timeout;
    return 0;
}

static void reply_entry(fuse_req_t req, inode *parent, const char *name, bool fresh, int failed)
{
    struct fuse_entry_param e;

    if (failed == 0)
        failed = find(parent, name, fresh, &e);
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_entry(req, &e);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    reply_entry(req, of(req, parent), name, false, 0);
}

static bool is_own(const inode *i)
{
    return i->kind == ROOT || i->kind == SHOWN || i->kind == WAL_LINK || i->kind == STATUS;
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    if (!is_own(of(req, ino)))
        inode_forget(of(req, ino), lookups);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < n; i++)
        if (!is_own(of(req, forgets[i].ino)))
            inode_forget(of(req, forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const inode *i = of(req, ino);
    struct stat s;
    int failed = attributes(i, &s);

    (void)fi;
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_attr(req, &s, i->kind == RELATION ? NEVER_ELSE : 1.0);
}

static int set_size(inode *i, off_t size)
{
    char path[64];
    relfile *pages;

    if (i->kind != RELATION)
        return SYS(truncate(proc_path(i->fd, path), size));
    int failed = inode_pages(i, &pages);
    return failed != 0 ? failed : pages_truncate(pages, (uint64_t)size);
}

static struct timespec time_for(int set, int now, int given, struct timespec time)
{
    return (set & now) != 0     ? (struct timespec){0, UTIME_NOW}
           : (set & given) != 0 ? time
                                : (struct timespec){0, UTIME_OMIT};
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *s, int set, struct fuse_file_info *fi)
{
    inode *i = of(req, ino);
    char path[64];
    int failed = is_own(i) && i->kind != ROOT ? -EPERM : 0;

    if (failed == 0 && (set & FUSE_SET_ATTR_MODE) != 0)
        failed = SYS(chmod(proc_path(i->fd, path), s->st_mode & 07777));
    if (failed == 0 && (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
        failed = SYS(fchownat(i->fd, "", (set & FUSE_SET_ATTR_UID) != 0 ? s->st_uid : (uid_t)-1,
                              (set & FUSE_SET_ATTR_GID) != 0 ? s->st_gid : (gid_t)-1,
                              AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW));
    if (failed == 0 && (set & FUSE_SET_ATTR_SIZE) != 0)
        failed = set_size(i, s->st_size);
    struct timespec times[] = {time_for(set, FUSE_SET_ATTR_ATIME_NOW, FUSE_SET_ATTR_ATIME, s->st_atim),
                               time_for(set, FUSE_SET_ATTR_MTIME_NOW, FUSE_SET_ATTR_MTIME, s->st_mtim)};
    if (failed == 0 && (set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0)
        failed = SYS(utimensat(AT_FDCWD, proc_path(i->fd, path), times, 0));
    if (failed != 0)
        reply(req, failed);
    else
        op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    const inode *i = of(req, ino);
    char to[PATH_MAX + 300], name[PATH_MAX], path[64];
    ssize_t n;

    if (i->kind == WAL_LINK) {
        snprintf(to, sizeof(to), "%s/pg_wal", options.data);
    } else if ((n = readlinkat(i->fd, "", to, PATH_MAX)) < 0) {
        reply(req, -errno);
        return;
    } else {
        to[n] = '\0';
    }
    /* The name in pg_tblspc is the folder's there, too; what already leads here stays. */
    if (i->kind == SPACE_LINK && !is_shown_here(to)) {
        if ((n = readlink(proc_path(i->fd, path), name, sizeof(name) - 1)) < 0) {
            reply(req, -errno);
            return;
        }
        name[n] = '\0';
        snprintf(to, sizeof(to), "%s/" SPACES_NAME "/%.255s", options.mountpoint, strrchr(name, '/') + 1);
    }
    fuse_reply_readlink(req, to);
}

/* A folder; or a link, if `to` says where it leads. */
static void make(fuse_req_t req, fuse_ino_t ino, const char *name, const char *to, mode_t mode)
{
    inode *parent = of(req, ino);
    const char *there = below(parent, name);

    as_asker(req);
    int failed = SYS(to != NULL ? symlinkat(to, parent->fd, there) : mkdirat(parent->fd, there, mode));
    as_self();
    reply_entry(req, parent, name, true, failed);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode)
{
    make(req, ino, name, NULL, mode);
}

static void op_symlink(fuse_req_t req, const char *to, fuse_ino_t ino, const char *name)
{
    make(req, ino, name, to, 0);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_ino, const char *name)
{
    const inode *i = of(req, ino);
    inode *parent = of(req, new_ino);
    char path[64];
    int failed = is_own(i) ? -EPERM
                           : SYS(linkat(AT_FDCWD, proc_path(i->fd, path), parent->fd, below(parent, name),
                                        AT_SYMLINK_FOLLOW));

    if (failed == 0 && i->kind == RELATION)
        failed = folders_renamed(parent->fd);
    reply_entry(req, parent, name, true, failed);
}

/* A path is about to mean something else: the area forgets the file that it names now. pages_hold is on. */
static int forget_path(const inode *parent, const char *name)
{
    struct stat s;

    if (fstatat(parent->fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -errno;
    return S_ISDIR(s.st_mode) ? pages_forget(0, 0) : pages_forget(s.st_dev, s.st_ino);
}

static void op_unlink(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    const inode *parent = of(req, ino);

    /* Whatever its name is now: it may have been a relation's when the area got its pages. */
    write_back_lock();
    int failed = forget_path(parent, below(parent, name));
    if (failed == 0)
        failed = folders_renamed(parent->fd);
    if (failed == 0)
        failed = SYS(unlinkat(parent->fd, below(parent, name), 0));
    write_back_unlock();
    reply(req, failed);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    reply(req, SYS(unlinkat(of(req, parent)->fd, below(of(req, parent), name), AT_REMOVEDIR)));
}

static void op_rename(fuse_req_t req, fuse_ino_t from_ino, const char *name, fuse_ino_t to_ino,
                      const char *new_name, unsigned int flags)
{
    const inode *from = of(req, from_ino), *to = of(req, to_ino);
    const char *old = below(from, name), *fresh = below(to, new_name);
    write_back_lock();
    int failed = forget_path(from, old);
    if (failed == 0)
        failed = forget_path(to, fresh);
    if (failed == 0 && (failed = folders_renamed(from->fd)) == 0)
        failed = folders_renamed(to->fd);
    if (failed == 0)
        failed = SYS(renameat2(from->fd, old, to->fd, fresh, flags));
    write_back_unlock();
    reply(req, failed);
}

/* ---- files ---- */

static void reply_status(fuse_req_t req, size_t size, off_t at)
{
    char text[8192];
    size_t n = figures_text(text, sizeof(text)), left = at < (off_t)n ? n - (size_t)at : 0;

    fuse_reply_buf(req, text + n - left, size < left ? size : left);
}

/* What is written to the status file are shares. */
static int set_shares(const char *bytes, size_t size)
{
    char text[256];

    if (size >= sizeof(text))
        return -EINVAL;
    memcpy(text, bytes, size);
    text[size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return io_shares(text);
}

/* Alignment that O_DIRECT asks for is not that of our buffers. */
static int open_inode(inode *i, struct fuse_file_info *fi)
{
    char path[64];
    relfile *pages;
    int failed = 0;

    fi->fh = (uint64_t)-1;
    if (i->kind != RELATION && i->kind != STATUS) {
        int fd = open(proc_path(i->fd, path),
                      (fi->flags & ~(O_DIRECT | O_NOFOLLOW | O_EXCL | O_CREAT)) | O_CLOEXEC);
        fi->fh = (uint64_t)fd;
        return SYS(fd);
    }
    /*
     * A request is then what the server has asked for: whole pages in one piece. With the kernel's cache a write of a page may
     * come in two, and a kill between them would leave half of it.
     */
    fi->direct_io = 1;
    if (i->kind == RELATION && (failed = inode_pages(i, &pages)) == 0 && (fi->flags & O_TRUNC) != 0)
        failed = pages_truncate(pages, 0);
    return failed;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    int failed = open_inode(of(req, ino), fi);

    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_open(req, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t ino, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    inode *parent = of(req, ino);
    struct fuse_entry_param e;

    as_asker(req);
    int fd = openat(parent->fd, below(parent, name),
                    (fi->flags & ~(O_DIRECT | O_TRUNC)) | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
    int failed = SYS(fd);
    as_self();
    if (failed == 0 && (failed = find(parent, name, true, &e)) == 0) {
        inode *i = (inode *)(uintptr_t)e.ino;
        fi->fh = (uint64_t)fd;
        if (i->kind == RELATION &&
            ((failed = folders_renamed(parent->fd)) != 0 || (failed = open_inode(i, fi)) != 0))
            inode_forget(i, 1);
    }
    if (fd >= 0 && (failed != 0 || fi->fh != (uint64_t)fd))
        close(fd);
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_create(req, &e, fi);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    if (fi->fh != (uint64_t)-1)
        close((int)fi->fh);
    reply(req, 0);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at, struct fuse_file_info *fi)
{
    inode *i = of(req, ino);

    if (i->kind == STATUS) {
        reply_status(req, size, at);
        return;
    }
    uint64_t since = figures_clock();
    char *bytes = malloc(size);
    int64_t n = -ENOMEM;
    if (bytes != NULL && i->kind == RELATION) {
        n = pages_read(i->pages, (uint8_t *)bytes, size, (uint64_t)at);
        figures_add(FIGURE_READ, n < 0 ? 0 : (uint64_t)n, since);
    } else if (bytes != NULL && (n = pread((int)fi->fh, bytes, size, at)) < 0) {
        n = -errno;
    }
    if (n < 0)
        reply(req, (int)n);
    else
        fuse_reply_buf(req, bytes, (size_t)n);
    free(bytes);
}

static int fsync_pages(inode *i)
{
    uint64_t since = figures_clock();
    int failed = pages_fsync(i->pages);

    figures_add(FIGURE_SYNC, 0, since);
    return failed;
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t at,
                     struct fuse_file_info *fi)
{
    inode *i = of(req, ino);
    uint64_t since = figures_clock();
    int failed;

    if (i->kind == STATUS) {
        failed = set_shares(bytes, size);
    } else if (i->kind != RELATION) {
        ssize_t n = pwrite((int)fi->fh, bytes, size, at);
        failed = SYS(n);
        size = (size_t)n;
    } else {
        failed = pages_write(i->pages, (const uint8_t *)bytes, size, (uint64_t)at);
        figures_add(FIGURE_WRITE, failed != 0 ? 0 : size, since);
        if (failed == 0 && (fi->flags & O_DSYNC) != 0)
            failed = fsync_pages(i);
    }
    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_write(req, size);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    inode *i = of(req, ino);
    int fd = (int)fi->fh;

    reply(req, i->kind == RELATION ? fsync_pages(i)
               : i->kind == STATUS ? 0
                                   : SYS(datasync ? fdatasync(fd) : fsync(fd)));
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t size,
                         struct fuse_file_info *fi)
{
    inode *i = of(req, ino);

    reply(req, i->kind == RELATION ? pages_allocate(i->pages, mode, (uint64_t)at, (uint64_t)size)
                                   : SYS(fallocate((int)fi->fh, mode, at, size)));
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs s;
    int failed = SYS(fstatvfs(of(req, ino)->fd, &s));

    if (failed != 0)
        reply(req, failed);
    else
        fuse_reply_statfs(req, &s);
}

/* ---- folders ---- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const inode *i = of(req, ino);
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
    const inode *i = of(req, ino);
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
    (void)ino;
    closedir((DIR *)(uintptr_t)fi->fh);
    reply(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)ino;
    (void)datasync;
    reply(req, SYS(fsync(dirfd((DIR *)(uintptr_t)fi->fh))));
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

/* What is not here the kernel does by itself (copy_file_range, locks, SEEK_HOLE), or nobody has it (extended attributes). */
const struct fuse_lowlevel_ops fs_operations = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .readlink = op_readlink,
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
