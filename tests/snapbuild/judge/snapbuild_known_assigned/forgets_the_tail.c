/* SPDX-License-Identifier: PostgreSQL */
/* It looks at the entries before the tail, too: XIDs that have left come back. */
#include "snapbuild/snapbuild.h"

size_t candidate(uint32_t xids[], bool valid[], size_t tail, size_t head)
{
    size_t n = 0;

    (void)tail;
    for (size_t i = 0; i < head; i++)
        if (valid[i]) {
            xids[n] = xids[i];
            valid[n++] = true;
        }
    return n;
}
