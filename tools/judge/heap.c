/* SPDX-License-Identifier: PostgreSQL */
/*
 * Memory that a candidate asks for: how many blocks live. Only its own calls come here, because the judge has renamed
 * them in its object file. What lives between two calls is state.
 */
#include "watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic long live;

long pgq_judge_blocks(void)
{
    return live;
}

static void *counted(void *block)
{
    live += block != NULL;
    return block;
}

void *pgq_judge_malloc(size_t size);
void *pgq_judge_calloc(size_t n, size_t size);
void *pgq_judge_realloc(void *block, size_t size);
void *pgq_judge_aligned_alloc(size_t alignment, size_t size);
int pgq_judge_posix_memalign(void **block, size_t alignment, size_t size);
char *pgq_judge_strdup(const char *text);
void pgq_judge_free(void *block);
void *pgq_judge_mmap(void *address, size_t size, int protection, int flags, int file, off_t at);
int pgq_judge_munmap(void *address, size_t size);

void *pgq_judge_malloc(size_t size)
{
    return counted(malloc(size));
}

void *pgq_judge_calloc(size_t n, size_t size)
{
    return counted(calloc(n, size));
}

void *pgq_judge_realloc(void *block, size_t size)
{
    return block == NULL ? counted(realloc(NULL, size)) : realloc(block, size);
}

void *pgq_judge_aligned_alloc(size_t alignment, size_t size)
{
    return counted(aligned_alloc(alignment, size));
}

int pgq_judge_posix_memalign(void **block, size_t alignment, size_t size)
{
    int failed = posix_memalign(block, alignment, size);

    live += failed == 0;
    return failed;
}

char *pgq_judge_strdup(const char *text)
{
    return counted(strdup(text));
}

void pgq_judge_free(void *block)
{
    live -= block != NULL;
    free(block);
}

void *pgq_judge_mmap(void *address, size_t size, int protection, int flags, int file, off_t at)
{
    void *block = mmap(address, size, protection, flags, file, at);

    live += block != MAP_FAILED;
    return block;
}

int pgq_judge_munmap(void *address, size_t size)
{
    int failed = munmap(address, size);

    live -= failed == 0;
    return failed;
}

/* The operators new and delete, without and with [], without and with a size. */
void *pgq_judge__Znwm(size_t size) __attribute__((alias("pgq_judge_malloc")));
void *pgq_judge__Znam(size_t size) __attribute__((alias("pgq_judge_malloc")));
void pgq_judge__ZdlPv(void *block) __attribute__((alias("pgq_judge_free")));
void pgq_judge__ZdaPv(void *block) __attribute__((alias("pgq_judge_free")));

void pgq_judge__ZdlPvm(void *block, size_t size);
void pgq_judge__ZdaPvm(void *block, size_t size);

void pgq_judge__ZdlPvm(void *block, size_t size)
{
    (void)size;
    pgq_judge_free(block);
}

void pgq_judge__ZdaPvm(void *block, size_t size)
{
    (void)size;
    pgq_judge_free(block);
}
