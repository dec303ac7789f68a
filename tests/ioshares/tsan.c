/* SPDX-License-Identifier: PostgreSQL */
/*
 * The engine, by threads and by io_uring in turn, with one client thread for each class, on a real file. Each client owns some pages; it writes its pages, reads
 * them back, several at once, and compares. The log of the scheduler is judged at the end: never more in flight than the
 * limit when something goes, and as many completions as submissions. One client changes the shares. Built with ThreadSanitizer the program shows data
 * races. argv[1]: rounds. Ends with a tally.
 */
#include "pgquern.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENTS = 4, PAGES = 6, PAGE = 512, LOG = 4096, ROUNDS_AN_ENGINE = 20, WRONG_ANSWER = 1 };

static pgq_ioshares_event event_log[LOG];
static pgq_ioshares_engine *engine;
static int fd;
static unsigned rounds;

typedef struct client {
    pthread_t thread;
    uint32_t cls;
    unsigned long written, read;
    char pages[PAGES][PAGE];
} client;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "wrong answer: %s\n", what);
        _Exit(WRONG_ANSWER);
    }
}

/* All pages of a client at once. */
static void all_pages(client *me, bool write)
{
    pgq_ioshares_io ios[PAGES];

    for (uint32_t i = 0; i < PAGES; i++) {
        ios[i] = (pgq_ioshares_io){.buffer = me->pages[i],
                                   .offset = (uint64_t)(me->cls * PAGES + i) * PAGE,
                                   .size = PAGE,
                                   .cls = me->cls,
                                   .fd = fd,
                                   .write = write};
        require(pgq_ioshares_engine_submit(engine, &ios[i]).code == PGQ_OK, "refused");
    }
    for (uint32_t i = 0; i < PAGES; i++) {
        require(pgq_ioshares_engine_wait(engine, &ios[i]).code == PGQ_OK, "wait refused");
        require(ios[i].error == 0, "I/O error");
        require(ios[i].submitted <= ios[i].went && ios[i].went <= ios[i].ended, "times");
    }
}

/* While the others' requests wait and go. */
static void change_shares(unsigned round)
{
    const uint32_t shares[CLIENTS] = {1 + round % 7, 500, 1 + round % 3, 100};

    require(pgq_ioshares_engine_set_shares(engine, shares).code == PGQ_OK, "new shares are refused");
}

static void *live(void *argument)
{
    client *me = argument;

    for (unsigned round = 0; round < ROUNDS_AN_ENGINE; round++) {
        for (uint32_t i = 0; i < PAGES; i++)
            memset(me->pages[i], (int)(round * 31 + me->cls * 7 + i), PAGE);
        if (me->cls == 0)
            change_shares(round);
        all_pages(me, true);
        me->written += PAGES;
        memset(me->pages, 0, sizeof me->pages);
        all_pages(me, false);
        for (uint32_t i = 0; i < PAGES; i++)
            for (uint32_t at = 0; at < PAGE; at++)
                require(me->pages[i][at] == (char)(round * 31 + me->cls * 7 + i), "a page is another one");
        me->read += PAGES;
    }
    return NULL;
}

/* What the log says: the events of an engine's life, all of which it has kept. */
static unsigned long judge(uint64_t logged)
{
    unsigned long submitted = 0, completed = 0, at_limit = 0, shared = 0;

    require(logged <= LOG, "the log is too short");
    for (uint64_t k = 0; k < logged; k++) {
        const pgq_ioshares_event *event = &event_log[k];

        submitted += event->what == PGQ_IOSHARES_SUBMITTED;
        completed += event->what == PGQ_IOSHARES_COMPLETED;
        shared += event->what == PGQ_IOSHARES_SHARED;
        if (event->what == PGQ_IOSHARES_DISPATCHED) {
            require(event->in_flight <= event->limit, "above the limit");
            at_limit += event->in_flight == event->limit;
        }
    }
    require(submitted == completed, "some request was lost");
    require(shared == ROUNDS_AN_ENGINE * CLIENTS, "some new shares were lost");
    return at_limit;
}

/* How often the limit was reached. Where there is no io_uring, threads take its turn. */
static unsigned long one_engine(client *clients, pgq_ioshares_way way)
{
    static const pgq_ioshares_class classes[CLIENTS] = {
        {500, 4096, PAGES}, {200, 0, PAGES}, {200, 0, PAGES}, {100, 0, PAGES}};
    pgq_ioshares_config config = {classes, CLIENTS, {1, 2, 4, 4, 20000}, event_log, LOG, {0, 0}};
    pgq_ioshares *scheduler;
    pgq_ioshares_state state;
    size_t bytes;

    require(pgq_ioshares_bytes(&config, &bytes).code == PGQ_OK, "bytes");
    void *memory = malloc(bytes);
    require(memory != NULL && pgq_ioshares_init(memory, bytes, &config, &scheduler).code == PGQ_OK, "init");
    require(pgq_ioshares_engine_start(scheduler, way, &engine).code == PGQ_OK, "start");
    for (uint32_t i = 0; i < CLIENTS; i++)
        require(pthread_create(&clients[i].thread, NULL, live, &clients[i]) == 0, "thread");
    for (uint32_t i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    require(pgq_ioshares_engine_stop(engine).code == PGQ_OK, "stop");
    pgq_ioshares_look(scheduler, &state);
    unsigned long at_limit = judge(state.logged);
    free(memory);
    return at_limit;
}

int main(int argc, char **argv)
{
    static client clients[CLIENTS];
    unsigned long engines = 0, at_limit = 0, written = 0, read = 0;
    FILE *file = tmpfile();

    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
    require(file != NULL, "no file");
    fd = fileno(file);
    for (uint32_t i = 0; i < CLIENTS; i++)
        clients[i].cls = i;
    for (; engines < rounds / 100 + 2; engines++)
        at_limit += one_engine(clients, engines % 2 == 0 ? PGQ_IOSHARES_BY_THREADS : PGQ_IOSHARES_BY_ANY);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        written += clients[i].written;
        read += clients[i].read;
    }
    printf("tally: engines=%lu written=%lu read=%lu at_the_limit=%lu\n", engines, written, read, at_limit);
    return 0;
}
