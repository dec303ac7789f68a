// SPDX-License-Identifier: PostgreSQL
// Right, in C++: the standard library's filter.
#include "pgquern.h"

#include <algorithm>

extern "C" pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    pgq_status status = {PGQ_OK, 0};

    if (committed == nullptr) {
        status.code = PGQ_NULL;
        return status;
    }
    if (committed->xcnt > committed->xcnt_space || committed->xcnt_space > std::size_t{1} << 28) {
        status.code = PGQ_SNAPBUILD_CAPACITY;
        return status;
    }
    if (committed->xip == nullptr && committed->xcnt_space > 0) {
        status.code = PGQ_NULL;
        return status;
    }
    if (xmin >= 3 && committed->xcnt > 0) {
        uint32_t *end = committed->xip + committed->xcnt;

        committed->xcnt = std::remove_if(committed->xip, end,
                                         [xmin](uint32_t x) { return static_cast<int32_t>(x - xmin) < 0; }) -
                          committed->xip;
    }
    return status;
}
