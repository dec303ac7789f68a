/* SPDX-License-Identifier: PostgreSQL */
/* First come, first served, whatever the class: what a device without a scheduler does. The baseline. */
#include "ioshares/scheduler.h"

static uint32_t choose(pgq_ioshares *s)
{
    uint32_t chosen = 0;
    uint64_t first = UINT64_MAX;

    for (uint32_t left = s->backlogged; left != 0; left = without_lowest(left)) {
        uint64_t arrival = first_of(&s->flows[lowest(left)])->arrival;

        if (arrival < first) {
            first = arrival;
            chosen = lowest(left);
        }
    }
    return chosen;
}

pgq_status pgq_ioshares_fifo(void *memory, size_t bytes, const pgq_ioshares_config *config,
                             pgq_ioshares **scheduler)
{
    return pgq_ioshares_make(memory, bytes, config, choose, scheduler);
}
