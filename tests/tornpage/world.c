/* SPDX-License-Identifier: PostgreSQL */
/*
 * The world of the store of pages: all that the header allows to happen, in any order, and what it promises then. A call fails
 * with PGQ_TORNPAGE_IO if and only if an operation failed in it; a recovery finds some first changes, with all that were covered,
 * or refuses as the header says for a file that was lost or exchanged.
 *
 * Here is what one run does: how it begins, a step, and how it ends. world_row.h has its state; world_calls.h, world_losses.h and
 * world_recovery.h have what a step does and its checks; world_device.h has the files, world_history.h what may be found in them.
 */
#include "../tests/tornpage/world_recovery.h"
#include "../tests/world/system.h"

const unsigned world_steps = 360;
const bool world_tries_all_lines = true;

/* ---- how a run begins ---- */

static pgq_tornpage_config any_shape(world *w, bool small)
{
    uint32_t block = 1024u << world_below(w, small ? 4 : 6),
             pages = 1 + (uint32_t)world_below(w, block > 4096 ? 3 : 8);
    uint64_t more = world_one_in(w, 3) ? 0 : world_below(w, world_one_in(w, 2) ? 64 : 2 * block) * 8;

    return (pgq_tornpage_config){(int)world_below(w, 4), block, pages,
                                 block == 1024 && world_one_in(w, 20) ? 255 : 1 + (uint32_t)world_below(w, 4),
                                 2 * (block + 32) + more};
}

/* A shape that differs in one thing, which a process may ask for instead. */
static pgq_tornpage_config other_shape(world *w, pgq_tornpage_config c)
{
    switch (world_below(w, 5)) {
    case 0:
        c.protection = (c.protection + 1) % 4;
        break;
    case 1:
        c.pages++;
        break;
    case 2:
        c.slots = c.slots % 255 + 1;
        break;
    case 3:
        c.log_capacity += 8;
        break;
    default:
        c.block_size = c.block_size == 1024 ? 2048 : c.block_size / 2;
        if (c.log_capacity < 2 * (c.block_size + 32))
            c.log_capacity = 2 * (c.block_size + 32);
    }
    return c;
}

static void make_room(uint64_t sizes[], const pgq_tornpage_config *c)
{
    for (int file = 0; file < FILES; file++)
        if (file_size(c, file) > sizes[file])
            sizes[file] = file_size(c, file);
}

void *world_begin(world *w)
{
    row *r = allocated(sizeof *r);
    pgq_tornpage_config *shapes = r->shapes;
    uint64_t sizes[FILES] = {0};

    shapes[0] = any_shape(w, !world_one_in(w, 8));
    shapes[1] = other_shape(w, shapes[0]);
    make_room(sizes, &shapes[0]);
    make_room(sizes, &shapes[1]);
    uint32_t sector = world_one_in(w, 4) ? 4096 : 512, block = shapes[0].block_size;
    bool atomic = shapes[0].protection == PGQ_TORNPAGE_ATOMIC || shapes[1].protection == PGQ_TORNPAGE_ATOMIC;
    if (atomic && shapes[1].block_size != block) { /* the data file's sector is one block */
        shapes[1] = shapes[0];
        shapes[1].slots = shapes[0].slots % 255 + 1;
        make_room(sizes, &shapes[1]);
    }
    device_make(&r->dev, w, atomic ? block : sector, sector, sizes);
    r->size_of_changes = world_one_in(w, 2)   ? 0
                         : world_one_in(w, 4) ? block / 4
                                              : 8 * (1 + (uint32_t)world_below(w, 6));
    make_foreign(r, w);
    new_store(r);
    return r;
}

/* ---- a step ---- */

static void act_open(row *r)
{
    world *w = r->dev.world;

    switch (world_below(w, 16)) {
    default:
        for (uint64_t n = 1 + world_below(w, 10); n > 0 && r->open; n--)
            change_once(r);
        break;
    case 5:
    case 6:
        flush(r);
        break;
    case 7:
    case 8:
        write_back(r);
        break;
    case 9: /* many in a row take no more room than one */
        for (uint64_t n = world_one_in(w, 4) ? 400 : 1; n > 0; n--)
            checkpoint_begin(r);
        break;
    case 10:
        checkpoint_end(r);
        break;
    case 11:
        checkpoint_begin(r);
        if (r->open)
            checkpoint_end(r);
        break;
    case 12:
        if (recover(r))
            world_count(RECOVERED_IN_PROCESS);
        break;
    case 13:
        change_wrongly(r);
        break;
    case 14:
        if (world_one_in(w, 4))
            format(r);
        break;
    case 15:
        keep_older(r);
        break;
    }
    check_memory(r);
}

static void act_closed(row *r)
{
    world *w = r->dev.world;

    call_closed(r);
    if (!r->life.exists || world_one_in(w, 6))
        format(r);
    else
        recover(r);
}

/* Some bytes of a file can be neither read nor written for a while. */
static void spoil_range(row *r)
{
    world *w = r->dev.world;

    if (world_comes(w, WORLD_BAD_RANGE)) {
        int file = (int)world_below(w, FILES);
        uint64_t from = world_below(w, file_size(shape_of(r), file)), n = 1 + world_below(w, 4096);

        seen_file(&r->dev, file)->bad_from = from;
        seen_file(&r->dev, file)->bad_to = from + n;
    } else if (world_one_in(w, 3))
        for (int file = 0; file < FILES; file++)
            seen_file(&r->dev, file)->bad_to = seen_file(&r->dev, file)->bad_from = 0;
}

/* An orderly end, or one without any end; the next process may ask for another shape. */
static void begin_again(row *r)
{
    world *w = r->dev.world;

    world_count(ORDERLY_ENDS);
    world_says(w, "the process ends");
    bool other = world_one_in(w, 6);
    if (other)
        r->shape = 1 - r->shape;
    end_process(r, false);
    if (world_comes(w, WORLD_REPLACED))
        lose_file(r);
    reopen(r);
    if (other && !r->open && world_one_in(w, 2) && !r->dev.stopped) {
        r->shape = 1 - r->shape;
        end_process(r, false);
        reopen(r);
    }
    after_all_stops(r);
}

void world_step(void *context, world *w, unsigned step)
{
    row *r = context;

    (void)step;
    arm(r);
    spoil_range(r);
    if (world_one_in(w, 12))
        begin_again(r);
    else if (world_one_in(w, 60)) {
        end_process(r, false);
        tamper(r);
    } else if (world_one_in(w, 20))
        refuse_configs(r);
    if (r->open)
        act_open(r);
    else
        act_closed(r);
    after_all_stops(r);
}

/* ---- how a run ends ---- */

/* A store for which there is no memory. */
static pgq_code create_and_destroy(void *context)
{
    row *r = context;
    pgq_tornpage_device device = {&r->dev, device_read, device_write, device_sync};
    pgq_tornpage_store *store;
    pgq_status status = pgq_tornpage_create(shape_of(r), &device, &store);

    if (status.code == PGQ_OK)
        pgq_tornpage_destroy(store);
    return status.code;
}

void world_end(void *context, world *w)
{
    row *r = context;

    device_quiet(&r->dev, true);
    end_process(r, world_one_in(w, 2));
    if (!w->violated)
        recover(r);
    pgq_tornpage_destroy(r->store);
    for (unsigned n = system_refuse_each(w, create_and_destroy, r); n > 0; n--)
        world_count(NO_MEMORY);
    history_free(&r->life);
    free_copies(r->previous);
    free_copies(r->foreign);
    free_copies(r->older);
    device_free(&r->dev);
    free(r);
}
