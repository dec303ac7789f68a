/* SPDX-License-Identifier: PostgreSQL */
/*
 * A process in which a kernel runs alone: a host. It has no descriptor, and each of its system calls is stopped and told to its keeper,
 * who answers one of them: "the batch is done". Until the answer comes the host stands still, so nothing that it does after
 * that is timed, and no output changes while it is looked at. Arguments lie in memory that both share.
 *
 * The host maps that memory where its keeper says, by chance each time. What the keeper gives a kernel ends, or begins, at a
 * page without access. What a kernel may read alone lies where it cannot write: in a second map of the same memory.
 */
#ifndef PGQUERN_JUDGE_CAGE_H
#define PGQUERN_JUDGE_CAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { JUDGE_PAGE = 4096, JUDGE_AREAS = 64, JUDGE_LENT = 1 << 16, JUDGE_MEMORY_FD = 3, JUDGE_SOCKET_FD = 4 };
#define JUDGE_HEAD ((size_t)2 << 20) /* the head, and behind it the arguments of a batch */
#define JUDGE_AREA ((size_t)1 << 20)
#define JUDGE_JUMBO                                                                                          \
    ((size_t)40 << 30) /* the last area, for what is larger; its memory is there once it is written */
#define JUDGE_HEAP_AT (JUDGE_HEAD + JUDGE_AREAS * (JUDGE_AREA + JUDGE_PAGE) + JUDGE_JUMBO + 2 * JUDGE_PAGE)
#define JUDGE_HEAP    ((size_t)8 << 30) /* what a kernel gets when it asks for memory */
#define JUDGE_SIZE    (JUDGE_HEAP_AT + JUDGE_HEAP)
#define JUDGE_SHOWN   ((size_t)64 << 30) /* in the host: from here on the areas once more, to be read alone */
#define JUDGE_SPAN    (JUDGE_SHOWN + JUDGE_HEAP_AT)

/* What a kernel asks its keeper for in the middle of a call, by the number `what`, above 0: its stem says what that means. */
typedef struct judge_question {
    uint32_t what;
    int32_t fd;
    uint32_t flag;
    uint64_t at; /* in the host: of bytes in the memory that both share; 0: none */
    uint64_t size, offset;
    int64_t answer;
} judge_question;

/* At the beginning of the shared memory. */
typedef struct judge_head {
    uint64_t calls;  /* of the batch */
    uint64_t blocks; /* that its calls have asked for and not given back */
    uint64_t
        changed; /* not 0: the registers that say how the CPU works are not as a function must leave them */
    uint64_t stack; /* above it nothing of the host's stack changes any more */
    judge_question question;
    struct {
        uint64_t low, high;
    } free[JUDGE_AREAS]; /* what is left of each area; a batch of no calls touches the rest. Else 0 */
} judge_head;

enum { JUDGE_ARGUMENTS = 4096 }; /* where they begin */

/* The place of an area, and its size. */
static inline size_t judge_area_at(unsigned area)
{
    return JUDGE_HEAD + JUDGE_PAGE + area * (JUDGE_AREA + JUDGE_PAGE);
}

static inline size_t judge_area_size(unsigned area)
{
    return area + 1 < JUDGE_AREAS ? JUDGE_AREA : JUDGE_JUMBO;
}

/* What a keeper has put into the shared memory for a call. */
typedef struct judge_lent {
    void *ours; /* where it came from */
    size_t at, size;
    uintptr_t theirs; /* its address in the host */
    size_t field;     /* where the pointer to it stands, in the shared memory */
} judge_lent;

typedef struct judge_host judge_host;
struct judge_host {
    const char *program;
    void (*serve)(judge_host *host, judge_question *question); /* NULL: nothing is to be asked */
    uint64_t digest;                                           /* its own */
    pid_t pid;                                                 /* 0: none */
    int listener, memory_fd;
    uintptr_t base;  /* of the memory, in the host */
    uintptr_t stack; /* as its head has said before a kernel ran */
    uint64_t asked;  /* the number of the question that waits for an answer */
    uint64_t gate;   /* where in its code the host asks: a kernel's own question is none */
    char *memory;
    bool
        packed; /* several things share an area, as where time is taken; otherwise each has one, as far as there are */
    bool seams; /* some of these lie across a multiple of 2 GiB */
    uint64_t random;
    size_t low[JUDGE_AREAS], high[JUDGE_AREAS];
    unsigned next;
    size_t lent_count, given_count;
    judge_lent lent[JUDGE_LENT];
    struct {
        size_t at, end;
    } given[JUDGE_LENT]; /* all places of a batch */
    char *own;  /* what its own memory held after its first batch: that of the C library and of host.c */
    bool large; /* it has got more than an area holds: a call of one's own has a fresh host then */
    bool open_namespaces; /* the kernel refuses new ones */
    char why[200];        /* why it has ended, in words */
};

/* Starts a host; a program that ends before it has begun is an error of ours, and ends the keeper with JUDGE_BROKEN. */
void judge_start(judge_host *host, const char *program);
void judge_end(judge_host *host);
enum { JUDGE_BROKEN = 70 };

/* Where the next hosts map their memory: elsewhere. Until then all have one place, so that what they say can be compared. */
void judge_move(void);

/* Forgets what was lent. */
void judge_clear(judge_host *host);

/* Before a batch: what is shared is empty. After it: where the host has written beside what it was given; NULL: nowhere. */
void judge_wipe(judge_host *host);
const char *judge_look(judge_host *host, size_t arguments);

/*
 * A copy of `size` bytes at *field for the host, whose address there *field becomes; `field` lies in the shared memory.
 * Returns the copy. A NULL stays, and gives NULL. align: of its address; 1: any, by chance.
 */
void *judge_lend(judge_host *host, void *field, size_t size, size_t align);

/* The same for what a kernel may read alone. */
void *judge_show(judge_host *host, void *field, size_t size, size_t align);

/* The same for what the caller writes itself, later. */
void *judge_show_later(judge_host *host, void *field, size_t size, size_t align);

/* A pointer that may not be followed, in the place of one that is not NULL. */
void judge_forbid(judge_host *host, void *field);

/* A batch; false: the host has ended, and `why` says it. *ns: the CPU time that the kernel counts for it meanwhile; NULL: nobody asks. */
bool judge_run(judge_host *host, uint64_t calls, uint64_t *ns);

/* Counted for the tests: calls, and hosts without namespaces of their own. */
extern unsigned long pgq_judge_calls_made, pgq_judge_open;

/* So many bytes at an address of the host's, in the memory that both share; NULL: they are not all there. */
void *judge_reach(const judge_host *host, uint64_t at, size_t size);

/* In the host: asks; and whether it shares the memory at an address. */
int64_t judge_ask(judge_question question);
bool judge_is_shared(const void *bytes);

/* In the host: how many blocks a kernel has asked for and not given back; and all memory that it got, so many bytes. */
uint64_t judge_blocks(void);
const char *judge_allotted(size_t *size);

/* Of a call of one's own: stages the arguments, runs it, takes back what was lent. Ends the process if the host has. */
void judge_call(void *arguments, size_t size, void (*stage)(judge_host *, void *),
                void (*serve)(judge_host *, judge_question *));

static inline uint64_t judge_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state * 0x2545f4914f6cdd1dull;
}

#endif
