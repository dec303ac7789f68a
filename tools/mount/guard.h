/* SPDX-License-Identifier: PostgreSQL */
/*
 * While a data directory is mounted, and after a crash until it has been recovered, no server can start on it: its
 * PG_VERSION has another name, which says why. The mount shows it under its own.
 */
#ifndef PGQUERN_MOUNT_GUARD_H
#define PGQUERN_MOUNT_GUARD_H

#include <stdbool.h>

#define GUARD_ASIDE  "PG_VERSION.mounted-by-pgquern"
#define GUARD_README "README.mounted-by-pgquern"

/* Each says what is wrong, and what to do, and returns -errno. */

/* Locks the data directory for this process, recovers it after a crash, and puts PG_VERSION aside. */
int guard_begin(int data);
/* Everything is in place and synced: puts PG_VERSION back. */
int guard_end(int data);

/* A name of the root that is the guard's, or the area's, own. */
bool guard_hides(const char *name);

/* The process of the server whose postmaster.pid is in the directory, if it is alive; else 0. */
int guard_server(int data);

#endif
