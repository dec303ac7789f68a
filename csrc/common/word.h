/* SPDX-License-Identifier: PostgreSQL */
#ifndef PGQUERN_WORD_H
#define PGQUERN_WORD_H

#include <stdint.h>
#include <string.h>

/* The four bytes from p on, as a number. */
static inline uint32_t word_at(const void *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

#endif
