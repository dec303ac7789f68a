/* SPDX-License-Identifier: PostgreSQL */
/* The keeper's side of cage.h. */
#include "cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CPU_SECONDS = 20, CALLS_OF_A_HOST = 1000, LOOK_MS = 1000 };
#define SEAMS (((uintptr_t)2 << 30) - 1)

/* Of a batch; a test of the judge itself may ask for fewer. */
static unsigned cpu_seconds(void)
{
    const char *fewer = getenv("PGQUERN_JUDGE_CPU");

    return fewer != NULL ? (unsigned)atoi(fewer) : CPU_SECONDS;
}

static _Noreturn void broken(const char *what)
{
    fprintf(stderr, "judge, an error of its own: %s (%s)\n", what, strerror(errno));
    _exit(JUDGE_BROKEN);
}

static int receive_listener(int from)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int listener = -1;

    if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == NULL)
        broken("the process for a kernel did not begin");
    memcpy(&listener, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof listener);
    return listener;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t cpu_ns(const judge_host *host)
{
    clockid_t clock;

    return clock_getcpuclockid(host->pid, &clock) == 0 ? now_ns(clock) : 0;
}

/* How it ended. */
static void say_end(judge_host *host)
{
    int status = 0;

    kill(host->pid, SIGKILL);
    waitpid(host->pid, &status, 0);
    host->pid = 0;
    if (host->why[0] != '\0')
        return;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *says =
        number == SIGSEGV || number == SIGBUS
            ? ": an access beyond a buffer, a write to what it may only read, a look at a clock?"
        : number == SIGILL ? ": undefined behaviour, or an instruction that this CPU lacks"
                           : "";
    snprintf(host->why, sizeof host->why, "it crashes with SIG%s%s", number ? sigabbrev_np(number) : "?",
             says);
}

/* Waits until the host asks. False: it has ended, or asks for what it may not. */
static bool wait_for_question(judge_host *host)
{
    uint64_t start = 0;

    for (;;) {
        struct pollfd about = {host->listener, POLLIN, 0};
        int ready = poll(&about, 1, LOOK_MS);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            broken("poll");
        if (ready == 0) {
            uint64_t used = cpu_ns(host);

            start = start == 0 ? used : start;
            if (used - start < (uint64_t)cpu_seconds() * 1000000000)
                continue;
            snprintf(host->why, sizeof host->why, "it comes to no end: %u s of CPU time for a few calls",
                     cpu_seconds());
            say_end(host);
            return false;
        }
        struct seccomp_notif question = {0};
        if (!(about.revents & POLLIN) || ioctl(host->listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
            if ((about.revents & POLLIN) && errno == EINTR)
                continue;
            say_end(host);
            return false;
        }
        host->asked = question.id;
        if (host->gate == 0 && question.data.nr == SYS_close) { /* no kernel has run yet */
            struct seccomp_notif_resp answer = {.id = host->asked, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

            ioctl(host->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
            continue;
        }
        if (host->gate == 0)
            host->gate = question.data.instruction_pointer;
        if (question.data.nr == SYS_sched_yield && question.data.instruction_pointer == host->gate)
            return true;
        snprintf(host->why, sizeof host->why, "it makes a system call (number %d): a kernel may make none",
                 question.data.nr);
        say_end(host);
        return false;
    }
}

static pid_t new_process(judge_host *host)
{
    const unsigned long apart = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
    long pid = syscall(SYS_clone, apart | SIGCHLD, 0, 0, 0, 0);

    if (pid < 0) {
        host->open_namespaces = true;
        pid = syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
    }
    return (pid_t)pid;
}

static uintptr_t base;

/*
 * Where Linux puts programs, their heaps and libraries, and between; but not over the heap of a program without an
 * interpreter, which a host is: it begins in the GiB behind ELF_ET_DYN_BASE each time, so that no other try helps.
 */
void judge_move(void)
{
    const uintptr_t heap = 0x555500000000, heap_end = 0x555600000000;
    uint64_t any = 0;

    do {
        if (getrandom(&any, sizeof any, 0) != sizeof any)
            broken("no chance");
        base = (uintptr_t)0x550000000000 + (any % 0x2a0000 << 24);
    } while (base < heap_end && base + JUDGE_SPAN > heap);
}

void judge_start(judge_host *host, const char *program)
{
    char where[32];

    if (base == 0)
        judge_move();
    host->base = base;
    snprintf(where, sizeof where, "%zu", (size_t)base);
    int memory = memfd_create("judge", MFD_CLOEXEC), pair[2];
    /* Linux would write the number of the CPU into its memory. */
    char *const environment[] = {(char *)"GLIBC_TUNABLES=glibc.pthread.rseq=0", NULL};
    char *const words[] = {(char *)"postgres", where, NULL};

    host->program = program;
    host->why[0] = '\0';
    host->large = false;
    host->gate = 0;
    if (memory < 0 || ftruncate(memory, (off_t)JUDGE_SIZE) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        broken("no memory to share");
    host->memory = mmap(NULL, JUDGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    if (host->memory == MAP_FAILED)
        broken("no memory to share");
    fflush(NULL);
    const bool is_main = gettid() == getpid();
    host->pid = new_process(host);
    if (host->pid < 0)
        broken("no process");
    if (host->pid == 0) {
        if (is_main) /* the signal comes when the thread ends */
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        /* Clear of each other, and then in their places. */
        int m = fcntl(memory, F_DUPFD, 32), s = fcntl(pair[1], F_DUPFD, 32);
        dup2(m, JUDGE_MEMORY_FD);
        dup2(s, JUDGE_SOCKET_FD);
        syscall(SYS_close_range, JUDGE_SOCKET_FD + 1, ~0u, 0);
        execve(program, words, environment);
        _exit(JUDGE_BROKEN);
    }
    host->memory_fd = memory;
    close(pair[1]);
    host->listener = receive_listener(pair[0]);
    close(pair[0]);
    judge_clear(host);
    if (!wait_for_question(host))
        broken(host->why);
    host->stack = ((judge_head *)host->memory)->stack;
}

void judge_end(judge_host *host)
{
    if (host->pid > 0) {
        kill(host->pid, SIGKILL);
        waitpid(host->pid, NULL, 0);
    }
    close(host->listener);
    close(host->memory_fd);
    free(host->own);
    host->own = NULL;
    munmap(host->memory, JUDGE_SIZE);
    host->pid = 0;
}

void judge_clear(judge_host *host)
{
    for (unsigned i = 0; i < JUDGE_AREAS; i++) {
        host->low[i] = judge_area_at(i);
        host->high[i] = judge_area_at(i) + judge_area_size(i);
    }
    host->lent_count = 0;
    host->given_count = 0;
    host->next = 0;
}

/* ---- memory that a kernel was not given ------------------------------------------------------------------------------ */

void judge_wipe(judge_host *host)
{
    if (fallocate(host->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, sizeof(judge_head),
                  (off_t)(JUDGE_SIZE - sizeof(judge_head))) != 0)
        broken("the memory cannot be emptied");
}

static bool is_empty(const char *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/*
 * All of its private memory that can be written, but for the stack below its loop: to `bytes`, of `most`. 0: nobody may
 * look.
 */
static size_t private_memory(const judge_host *host, char *bytes, size_t most)
{
    char path[64], line[512];
    size_t all = 0;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)host->pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        size_t from, to;
        char access[8];

        if (sscanf(line, "%zx-%zx %7s", &from, &to, access) != 3 || strcmp(access, "rw-p") != 0)
            continue;
        from = from < host->stack && host->stack < to ? host->stack : from;
        struct iovec ours = {bytes + all, to - from}, theirs = {(void *)from, to - from}; // NOLINT
        if (all + (to - from) > most ||
            process_vm_readv(host->pid, &ours, 1, &theirs, 1, 0) != (ssize_t)(to - from)) {
            all = 0;
            break;
        }
        all += to - from;
    }
    if (maps != NULL)
        fclose(maps);
    return all;
}

const char *judge_look(judge_host *host, size_t arguments)
{
    enum { OWN = 8 << 20 };
    size_t next = 0, clean = JUDGE_ARGUMENTS + arguments, behind = offsetof(judge_head, free);

    if (!is_empty(host->memory + behind, JUDGE_ARGUMENTS - behind))
        return "it writes where nothing was given to it";
    qsort(host->given, host->given_count, sizeof host->given[0], by_place);
    for (off_t from = JUDGE_ARGUMENTS, to; (from = lseek(host->memory_fd, from, SEEK_DATA)) >= 0; from = to) {
        to = lseek(host->memory_fd, from, SEEK_HOLE);
        for (size_t at = (size_t)from > clean ? (size_t)from : clean; at < (size_t)to;) {
            while (next < host->given_count && host->given[next].end <= at)
                next++;
            bool inside = next < host->given_count && host->given[next].at <= at;
            size_t until = next == host->given_count ? (size_t)to
                           : inside                  ? host->given[next].end
                                                     : host->given[next].at;
            until = until < (size_t)to ? until : (size_t)to;
            if (!inside && !is_empty(host->memory + at, until - at))
                return "it writes where nothing was given to it";
            at = until;
        }
    }
    static char now[OWN];
    size_t size = private_memory(host, now, OWN);
    if (host->own == NULL && size > 0) {
        host->own = malloc(OWN);
        memcpy(host->own, now, size);
    }
    if (size > 0 && memcmp(host->own, now, size) != 0)
        return "it changes memory of the program that calls it: that is state from call to call";
    return NULL;
}

/* ---- a batch --------------------------------------------------------------------------------------------------------- */

/* To fresh memory, if it is large: what is empty stays so. Tests have arrays with holes. */
static void copy(char *to, const char *from, size_t size)
{
    static const char none[JUDGE_PAGE];

    if (size <= JUDGE_AREA)
        memcpy(to, from, size);
    for (size_t at = 0, part; size > JUDGE_AREA && at < size; at += part) {
        part = size - at < JUDGE_PAGE ? size - at : JUDGE_PAGE;
        if (memcmp(from + at, none, part) != 0)
            memcpy(to + at, from + at, part);
    }
}

/* At the upper end of what is left of an area, or at the lower, by chance. */
static size_t place(judge_host *host, size_t size, size_t align)
{
    unsigned area = JUDGE_AREAS - 1;
    size_t mask = align - 1;

    for (unsigned tries = 0; size + 64 < JUDGE_AREA && tries < JUDGE_AREAS - 1; tries++) {
        unsigned asked = host->packed ? host->next : host->next++ % (JUDGE_AREAS - 1);

        if (host->high[asked] - host->low[asked] >= size + 64) {
            area = asked;
            break;
        }
        if (host->packed)
            host->next = (host->next + 1) % (JUDGE_AREAS - 1);
    }
    /* Who takes 32 bits of an address for it goes wrong there. */
    size_t seam = ((host->base + host->low[JUDGE_AREAS - 1] + JUDGE_AREA) | SEAMS) + 1 - host->base;
    bool across = host->seams && size + 64 < JUDGE_AREA && judge_random(&host->random) % 16 == 0 &&
                  seam + JUDGE_JUMBO / 2 < host->high[JUDGE_AREAS - 1];
    area = across ? JUDGE_AREAS - 1 : area;
    if (host->high[area] - host->low[area] < size + 64)
        broken("a call is too large");
    bool upper = (judge_random(&host->random) >> 32) % 4 != 0;
    size_t odd =
        align == 1 ? (judge_random(&host->random) >> 32) % 2 * ((judge_random(&host->random) >> 32) % 32) : 0;
    size_t at = upper ? ((host->high[area] - size) & ~mask) - odd : ((host->low[area] + mask) & ~mask) + odd;
    if (across)
        at = (seam - size / 2) & ~mask;
    if (upper && !across)
        host->high[area] = at;
    else
        host->low[area] = at + size;
    if (host->given_count == JUDGE_LENT)
        broken("a batch is too long");
    host->given[host->given_count].at = at;
    host->given[host->given_count++].end = at + size;
    return at;
}

/* Memory for something, whose address in the host *field becomes. */
static char *give(judge_host *host, void *field, size_t size, size_t align, bool shown)
{
    size_t at = place(host, size, align);
    uintptr_t theirs = host->base + at + (shown ? JUDGE_SHOWN : 0);

    host->large |= size > JUDGE_AREA;
    memcpy(field, &theirs, sizeof theirs);
    return host->memory + at;
}

static void *lend(judge_host *host, void *field, size_t size, size_t align, bool shown)
{
    judge_lent lent = {.size = size, .field = (size_t)((char *)field - host->memory)};

    memcpy(&lent.ours, field, sizeof lent.ours);
    if (lent.ours == NULL)
        return NULL;
    if (host->lent_count == JUDGE_LENT)
        broken("a batch is too long");
    char *there = give(host, field, size, align, shown);
    copy(there, lent.ours, size);
    lent.at = (size_t)(there - host->memory);
    memcpy(&lent.theirs, field, sizeof lent.theirs);
    host->lent[host->lent_count++] = lent;
    return there;
}

void *judge_lend(judge_host *host, void *field, size_t size, size_t align)
{
    return lend(host, field, size, align, false);
}

void *judge_show(judge_host *host, void *field, size_t size, size_t align)
{
    return lend(host, field, size, align, true);
}

void *judge_show_later(judge_host *host, void *field, size_t size, size_t align)
{
    return give(host, field, size, align, true);
}

void judge_forbid(judge_host *host, void *field)
{
    uintptr_t nowhere = host->base + JUDGE_HEAD;

    if (*(void **)field != NULL)
        memcpy(field, &nowhere, sizeof nowhere);
}

void *judge_reach(const judge_host *host, uint64_t at, size_t size)
{
    uint64_t from = at - host->base;

    return from < JUDGE_HEAD || from > JUDGE_SIZE || size > JUDGE_SIZE - from ? NULL : host->memory + from;
}

/* It goes on until it asks for something, or the batch is done. */
static bool go_on(judge_host *host)
{
    struct seccomp_notif_resp answer = {.id = host->asked};

    return ioctl(host->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 && wait_for_question(host);
}

bool judge_run(judge_host *host, uint64_t calls, uint64_t *ns)
{
    judge_head *head = (judge_head *)host->memory;

    head->calls = calls;
    for (unsigned i = 0; calls == 0 && i < JUDGE_AREAS; i++) {
        head->free[i].low = host->low[i];
        head->free[i].high = host->high[i];
    }
    uint64_t start = ns != NULL ? cpu_ns(host) : 0;
    bool lives = go_on(host);
    while (lives && host->serve != NULL && head->question.what != 0) {
        judge_question question = head->question;

        host->serve(host, &question);
        head->question = (judge_question){.answer = question.answer};
        lives = go_on(host);
    }
    if (!lives) {
        if (host->pid != 0)
            say_end(host);
        return false;
    }
    if (ns != NULL)
        *ns = cpu_ns(host) - start;
    const judge_question asked = {.answer = head->question.answer};
    if (head->calls != calls || memcmp(&head->question, &asked, sizeof asked) != 0) {
        snprintf(host->why, sizeof host->why, "it writes where nothing was given to it");
        return false;
    }
    head->question.answer = 0;
    memset(head->free, 0, sizeof head->free);
    if (head->blocks != 0) {
        snprintf(host->why, sizeof host->why, "it keeps memory that it asked for from call to call");
        return false;
    }
    if (head->changed) {
        snprintf(
            host->why, sizeof host->why,
            "it returns with the direction flag set, another rounding, other bases of segments, MMX in use, "
            "or its caller's registers changed: its caller would go wrong");
        return false;
    }
    return true;
}

/* ---- one call at a time, for the tests ------------------------------------------------------------------------------- */

/* Counted for the tests. */
__attribute__((visibility("default"))) unsigned long pgq_judge_calls_made, pgq_judge_open;

void judge_call(void *arguments, size_t size, void (*stage)(judge_host *, void *),
                void (*serve)(judge_host *, judge_question *))
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static judge_host host;
    static pid_t of;

    pthread_mutex_lock(&mutex);
    if (host.pid == 0 || host.large || of != getpid() || pgq_judge_calls_made % CALLS_OF_A_HOST == 0) {
        const char *program = getenv("PGQUERN_JUDGE_HOST");

        if (host.pid != 0 && of == getpid())
            judge_end(&host);
        judge_move();
        if (program == NULL)
            broken("PGQUERN_JUDGE_HOST names no program");
        host.random = 0x9e3779b97f4a7c15 + pgq_judge_calls_made;
        judge_start(&host, program);
        of = getpid();
        pgq_judge_open = host.open_namespaces;
    }
    pgq_judge_calls_made++;
    judge_clear(&host);
    char *there = host.memory + JUDGE_ARGUMENTS;
    const bool looks = pgq_judge_calls_made % 64 == 0;
    if (looks)
        judge_wipe(&host);
    memcpy(there, arguments, size);
    stage(&host, there);
    host.serve = serve;
    if (!judge_run(&host, 1, NULL)) {
        fprintf(stderr, "\njudge: %s\n", host.why); /* pytest leaves its dots on a line */
        fflush(NULL);
        abort();
    }
    const char *beside = looks ? judge_look(&host, size) : NULL;
    if (beside != NULL) {
        fprintf(stderr, "\njudge: %s\n", beside);
        abort();
    }
    /* The pointers are ours again, then all comes back: what was lent first is what the others stand in. */
    for (size_t i = 0; i < host.lent_count; i++) {
        judge_lent *lent = &host.lent[i];
        uintptr_t now;

        memcpy(&now, host.memory + lent->field, sizeof now);
        if (now != lent->theirs) {
            fprintf(stderr, "\njudge: it changes a pointer that it was given\n");
            abort();
        }
        memcpy(host.memory + lent->field, &lent->ours, sizeof lent->ours);
    }
    for (size_t i = 0; i < host.lent_count; i++)
        if (memcmp(host.lent[i].ours, host.memory + host.lent[i].at, host.lent[i].size) != 0)
            memcpy(host.lent[i].ours, host.memory + host.lent[i].at, host.lent[i].size);
    memcpy(arguments, there, size);
    pthread_mutex_unlock(&mutex);
}
