/* SPDX-License-Identifier: PostgreSQL */
/* Who asks: the class of a request, by the title that a server gives its processes. Shares hang on it, and nothing else. */
#ifndef PGQUERN_MOUNT_ASKER_H
#define PGQUERN_MOUNT_ASKER_H

#include <sys/types.h>

/* Name, and share until others are set. writeback: the server's background writer, and the mount's own write-back. */
#define ASKERS_OF(X)                                                                                         \
    X(BACKEND, "backend", 500)                                                                               \
    X(CHECKPOINTER, "checkpointer", 200)                                                                     \
    X(AUTOVACUUM, "autovacuum", 200)                                                                         \
    X(WRITEBACK, "writeback", 100)

typedef enum asker {
#define X(asker, name, share) asker,
    ASKERS_OF(X)
#undef X
        ASKERS
} asker;

extern const char *const asker_names[ASKERS];

/*
 * For whom this thread works, until it says so again. pid: of the process, as the kernel tells it (0: in a place that is not
 * seen from here); what is known of it is looked up anew after a second, since another process may get the number.
 */
void asker_is(pid_t pid);
void asker_is_mount(void);
asker asker_now(void);

#endif
