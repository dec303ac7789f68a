/* SPDX-License-Identifier: PostgreSQL */
/* Randomness of the system, in place of the C library's: from the seed, so that a run is the same each time. */
#include "world.h"

#include <sys/random.h>
#include <unistd.h>

bool world_no_entropy;
static uint64_t state;

void world_seed_entropy(uint64_t seed)
{
    state = seed;
    world_no_entropy = false;
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    if (world_no_entropy)
        return -1;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        ((uint8_t *)bytes)[i] = (uint8_t)(state >> 56);
    }
    return (ssize_t)size;
}

int getentropy(void *bytes, size_t size)
{
    return getrandom(bytes, size, 0) < 0 ? -1 : 0;
}
