/* SPDX-License-Identifier: PostgreSQL */
/* The file system's operations, for libfuse's low-level interface. */
#ifndef PGQUERN_MOUNT_FS_H
#define PGQUERN_MOUNT_FS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#define STATUS_NAME ".pgquern-status" /* a file of the root that only who knows it finds */

extern const struct fuse_lowlevel_ops fs_operations;

void fs_start(int data);

#endif
