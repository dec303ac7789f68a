/* SPDX-License-Identifier: PostgreSQL */
#include "snapbuild/known_assigned.h"

#include <string.h>

/* The loop of src/backend/storage/ipc/procarray.c, KnownAssignedXidsCompress. */
size_t pgq_snapbuild_known_assigned_upstream(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t to = 0;

    for (size_t i = tail; i < head; i++) {
        if (valid[i]) {
            xids[to] = xids[i];
            valid[to] = true;
            to++;
        }
    }
    return to;
}

/* Our variant: the same without a branch on the data. */
size_t pgq_snapbuild_known_assigned_scalar(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = head > tail ? slide_live(xids, xids + tail, valid + tail, head - tail) : 0;

    if (n > 0)
        memset(valid, true, n);
    return n;
}
