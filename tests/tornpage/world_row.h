/* SPDX-License-Identifier: PostgreSQL */
/*
 * A run of the world: the store, what its files may hold, and what a run counts.
 */
#ifndef PGQUERN_TESTS_TORNPAGE_WORLD_ROW_H
#define PGQUERN_TESTS_TORNPAGE_WORLD_ROW_H

#include "../tests/tornpage/world_device.h"
#include "../tests/tornpage/world_history.h"

/* What must happen in some run, and its name in the tally. */
enum {
    KILLS,
    POWER_LOSSES,
    ORDERLY_ENDS,
    RESTARTS_CHECKED,
    RECOVERED,
    RECOVERED_IN_PROCESS,
    RECOVERY_IO,
    RECOVERY_REPEATED,
    LOST_CHANGES,
    FORMATS,
    FORMAT_IO,
    FORMAT_OLD_FOUND,
    FORMAT_NEW_FOUND,
    FORMAT_NONE_FOUND,
    CHANGES,
    LOG_FULL,
    FLUSHES,
    WRITE_BACKS,
    CHECKPOINTS,
    CALL_IO,
    CLOSED_IO,
    CLOSED_NO_STORE,
    RANGES,
    WRONG_PAGE_NONE,
    TORN_RECOVERED,
    CONTROL_LOST,
    CONTROL_OTHER,
    LOG_LOST,
    LOG_OTHER,
    DATA_WRONG,
    DATA_FROM_LOG,
    AREA_NOT_NEEDED,
    DATA_CUT,
    PUT_BACK,
    OTHER_SHAPE,
    NOT_PROMISED,
    AHEAD,
    CONFIGS,
    NO_MEMORY,
    COUNTS
};
const char *const world_counts[COUNTS + 1] = {
    [KILLS] = "kills",
    [POWER_LOSSES] = "power_losses",
    [ORDERLY_ENDS] = "orderly_ends",
    [RESTARTS_CHECKED] = "restarts_checked",
    [RECOVERED] = "recovered",
    [RECOVERED_IN_PROCESS] = "recovered_in_process",
    [RECOVERY_IO] = "recovery_io",
    [RECOVERY_REPEATED] = "recovery_repeated",
    [LOST_CHANGES] = "lost_changes",
    [FORMATS] = "formats",
    [FORMAT_IO] = "format_io",
    [FORMAT_OLD_FOUND] = "format_old_found",
    [FORMAT_NEW_FOUND] = "format_new_found",
    [FORMAT_NONE_FOUND] = "format_none_found",
    [CHANGES] = "changes",
    [LOG_FULL] = "log_full",
    [FLUSHES] = "flushes",
    [WRITE_BACKS] = "write_backs",
    [CHECKPOINTS] = "checkpoints",
    [CALL_IO] = "call_io",
    [CLOSED_IO] = "closed_io",
    [CLOSED_NO_STORE] = "closed_no_store",
    [RANGES] = "ranges",
    [WRONG_PAGE_NONE] = "wrong_page_none",
    [TORN_RECOVERED] = "torn_recovered",
    [CONTROL_LOST] = "control_lost",
    [CONTROL_OTHER] = "control_other",
    [LOG_LOST] = "log_lost",
    [LOG_OTHER] = "log_other",
    [DATA_WRONG] = "data_wrong",
    [DATA_FROM_LOG] = "data_from_log",
    [AREA_NOT_NEEDED] = "area_not_needed",
    [DATA_CUT] = "data_cut",
    [PUT_BACK] = "put_back",
    [OTHER_SHAPE] = "other_shape",
    [NOT_PROMISED] = "not_promised",
    [AHEAD] = "ahead",
    [CONFIGS] = "configs",
    [NO_MEMORY] = "no_memory",
};

/* What happened to a file while no process had it open: nothing, its content is gone, it is another store's, or it is cut. */
typedef enum loss { WHOLE, LOST, OTHER, CUT } loss;

typedef struct row {
    device dev;
    pgq_tornpage_config shapes[2];
    int shape; /* of the store in memory */
    pgq_tornpage_store *store;
    bool open;
    bool failed;    /* an operation has, since the last format or recovery began */
    bool any_state; /* nothing is promised until a format */

    /* What the files hold. After a format that has not ended well: this, a new store of one of these shapes, or none. */
    history life;
    bool formatting, may_be_new[2];

    /* What happened to the file `lost` before the next recovery. */
    loss loss;
    int lost;
    uint64_t cut, writes_before;
    disk_copy saved; /* the file as it was */

    /* Files to exchange: as they were before the last format, another store's, and this store's of some time ago. */
    disk_copy previous[FILES], foreign[FILES], older[FILES];
    int previous_shape;
    int older_shape; /* 1 + the number of their shape; 0: there are none */

    uint32_t size_of_changes; /* 0: any */
    uint64_t number;          /* of changes that were tried */
    uint64_t since_point;     /* changes since the point where replay begins, at most */
    uint64_t since_begin;     /* and since the last begin of a checkpoint */
} row;

static const pgq_tornpage_config *shape_of(const row *r)
{
    return &r->shapes[r->shape];
}

static bool same_shape(const row *r)
{
    return r->life.exists && memcmp(&r->life.shape, shape_of(r), sizeof r->life.shape) == 0;
}

static bool has_lost(const row *r, int file)
{
    return r->loss != WHOLE && r->lost == file;
}

/* What PageIsVerified says of a page of the data file, as it is read now. */
static bool sound_in_file(row *r, uint32_t page)
{
    const pgq_tornpage_config *c = shape_of(r);
    const uint8_t *bytes = seen_file(&r->dev, PGQ_TORNPAGE_DATA)->cache + (size_t)page * c->block_size;
    uint8_t verdict = 0;

    pgq_tornpage_check(bytes, 1, c->block_size, page, &verdict);
    return verdict == PGQ_TORNPAGE_SOUND;
}

static uint32_t first_torn(row *r)
{
    uint32_t page = 0;

    while (page < shape_of(r)->pages && sound_in_file(r, page))
        page++;
    return page;
}

/* A page is torn that only the area can give back. */
static bool needs_area(row *r)
{
    return shape_of(r)->protection == PGQ_TORNPAGE_DOUBLE_WRITE && first_torn(r) < shape_of(r)->pages;
}

#endif
