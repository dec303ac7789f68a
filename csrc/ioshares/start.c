/* SPDX-License-Identifier: PostgreSQL */
/*
 * The start of an engine: which way it goes. The ways call engine.c, which knows a way by its table alone; so nobody but this
 * file names them.
 */
#include "ioshares/engine.h"

pgq_status pgq_ioshares_engine_start(pgq_ioshares *scheduler, pgq_ioshares_way way,
                                     pgq_ioshares_engine **engine)
{
    if (scheduler == NULL || engine == NULL)
        return refused(PGQ_NULL, 0);
    if (way != PGQ_IOSHARES_BY_ANY && way != PGQ_IOSHARES_BY_URING && way != PGQ_IOSHARES_BY_THREADS)
        return refused(PGQ_IOSHARES_WAY, 0);
    /* It would take the id of what waits for a request of its own, and nobody would complete what is in flight. */
    if (scheduler->waiting != 0 || scheduler->in_flight != 0)
        return refused(PGQ_IOSHARES_IN_USE, 0);
    if (way != PGQ_IOSHARES_BY_THREADS) {
        pgq_status status = pgq_ioshares_start_uring(scheduler, engine);

        if (status.code != PGQ_IOSHARES_URING || way == PGQ_IOSHARES_BY_URING)
            return status;
    }
    return pgq_ioshares_start_threads(scheduler, engine);
}
