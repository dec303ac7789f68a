/* SPDX-License-Identifier: PostgreSQL */
/*
 * Folders in which names of relation files change: they are synced before the next batch. The area names files by paths, and
 * a power loss must not make them mean other files, or give a file its name back whose pages the area does not have.
 */
#ifndef PGQUERN_MOUNT_FOLDERS_H
#define PGQUERN_MOUNT_FOLDERS_H

/* Both return 0, or -errno. */

/* Names of this folder change, or have changed. */
int folders_renamed(int folder);
/* Syncs them. One whose sync fails stays: the next batch tries it again. */
int folders_sync(void);

#endif
