/* SPDX-License-Identifier: PostgreSQL */
#include "common/uring.h"

#if HAVE_LIBURING
#include <dlfcn.h>
#include <string.h>

static bool load_one(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, sizeof found); /* C has no conversion from void * to a function */
    return found != NULL;
}

bool pgq_liburing_load(liburing *lib)
{
    void *library = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);

    return library != NULL && load_one(library, "io_uring_queue_init", &lib->queue_init) &&
           load_one(library, "io_uring_queue_exit", &lib->queue_exit) &&
           load_one(library, "io_uring_get_sqe", &lib->get_sqe) &&
           load_one(library, "io_uring_submit", &lib->submit) &&
           load_one(library, "io_uring_submit_and_wait", &lib->submit_and_wait) &&
           load_one(library, "io_uring_wait_cqes", &lib->wait_cqes) &&
           load_one(library, "io_uring_peek_batch_cqe", &lib->peek_batch_cqe) &&
           load_one(library, "io_uring_register_buffers", &lib->register_buffers);
}
#endif
