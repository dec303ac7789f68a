/* SPDX-License-Identifier: PostgreSQL */
/* The host of cage.h: maps the memory, shuts itself in, and calls a kernel for ever. invoke.c, which is generated, makes a call. */
#include "cage.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const size_t judge_arguments_size;
void judge_invoke(void *arguments);
extern const bool judge_keeps_memory; /* from call to call: what is there stands in a component */
void judge_prepare(void);

static void need(bool holds, const char *what)
{
    if (!holds) {
        (void)!write(2, what, strlen(what));
        _exit(JUDGE_BROKEN);
    }
}

/* ---- the memory that a kernel asks for: given anew, and empty, in each call ------------------------------------------ */

static char early[1 << 20] __attribute__((aligned(16))); /* what the C library asks for before main */
static char *heap = early;
static size_t heap_size = sizeof early, heap_used;
static uint64_t heap_blocks;

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
void __wrap_free(void *block);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    size_t at = (heap_used + 16 + alignment - 1) & ~(alignment - 1);

    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || at > heap_size || size > heap_size - at)
        return NULL;
    heap_used = (at + size + 15) & ~(size_t)15;
    ((size_t *)(heap + at))[-1] = size;
    heap_blocks++;
    return heap + at;
}

void *__wrap_malloc(size_t size)
{
    return __wrap_aligned_alloc(16, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return size != 0 && n > heap_size / size ? NULL : __wrap_malloc(n * size);
}

void *__wrap_realloc(void *block, size_t size)
{
    void *new = __wrap_malloc(size);

    if (new != NULL && block != NULL) {
        size_t old = ((size_t *)block)[-1];

        memcpy(new, block, old < size ? old : size);
        __wrap_free(block);
    }
    return new;
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = __wrap_aligned_alloc(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

void __wrap_free(void *block)
{
    heap_blocks -= block != NULL;
}

uint64_t judge_blocks(void)
{
    return heap_blocks;
}

const char *judge_allotted(size_t *size)
{
    *size = heap_used;
    return heap;
}

static void forget_heap(judge_head *head)
{
    if (judge_keeps_memory && heap_blocks != 0)
        return;
    head->blocks += heap_blocks;
    memset(heap, 0, heap_used);
    heap_used = 0;
    heap_blocks = 0;
}

/* ---- the cage -------------------------------------------------------------------------------------------------------- */

/* False: something of this process lies there. */
static bool map_memory(char *base)
{
    const int shared = MAP_SHARED | MAP_FIXED_NOREPLACE, both = PROT_READ | PROT_WRITE;

    need(sysconf(_SC_PAGESIZE) == JUDGE_PAGE, "host: this machine's pages have other than 4096 bytes\n");
    if (mmap(base, JUDGE_SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0) != base)
        return false;
    need(munmap(base, JUDGE_HEAD) == 0 && mmap(base, JUDGE_HEAD, both, shared, JUDGE_MEMORY_FD, 0) == base,
         "host: no shared memory\n");
    for (unsigned i = 0; i < JUDGE_AREAS; i++) {
        char *at = base + judge_area_at(i);

        need(munmap(at, judge_area_size(i)) == 0 && mmap(at, judge_area_size(i), both, shared | MAP_NORESERVE,
                                                         JUDGE_MEMORY_FD, (off_t)judge_area_at(i)) == at,
             "host: no shared memory\n");
        at += JUDGE_SHOWN;
        need(munmap(at, judge_area_size(i)) == 0 &&
                 mmap(at, judge_area_size(i), PROT_READ, shared | MAP_NORESERVE, JUDGE_MEMORY_FD,
                      (off_t)judge_area_at(i)) == at,
             "host: no shared memory\n");
    }
    heap = base + JUDGE_HEAP_AT;
    need(munmap(heap, JUDGE_HEAP) == 0 && mmap(heap, JUDGE_HEAP, both, shared | MAP_NORESERVE,
                                               JUDGE_MEMORY_FD, (off_t)JUDGE_HEAP_AT) == heap,
         "host: no memory\n");
    heap_size = JUDGE_HEAP;
    heap_used = 0;
    heap_blocks = 0;
    return true;
}

/* The pages that a batch needs are here before it is timed. */
static void touch(const judge_head *head)
{
    const volatile char *base = (const char *)head;

    for (unsigned i = 0; i < JUDGE_AREAS; i++)
        for (size_t at = judge_area_at(i); at < judge_area_at(i) + judge_area_size(i); at += JUDGE_PAGE)
            if (at < head->free[i].low || at + JUDGE_PAGE > head->free[i].high)
                (void)(base[at] + base[JUDGE_SHOWN + at]);
            else
                at = (head->free[i].high & ~(size_t)(JUDGE_PAGE - 1)) - JUDGE_PAGE;
}

/* One call is left, to send the listener away: of this message, which no kernel has. */
static int shut_in(const struct msghdr *message)
{
    struct sock_filter filter[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 2, SYS_sendmsg},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[1])},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, (uint32_t)(uintptr_t)message},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "host: no PR_SET_NO_NEW_PRIVS\n");
    int listener =
        (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) /* without a filter yet */
        need(false, "host: the kernel stops no system calls for a keeper (seccomp, Linux 5.5)\n");
    return listener;
}

static void shut_in_and_send_listener(void)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *about = CMSG_FIRSTHDR(&message);

    *about = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    int listener = shut_in(&message);
    memcpy(CMSG_DATA(about), &listener, sizeof listener);
    sendmsg(JUDGE_SOCKET_FD, &message, 0);
    for (int fd = 0; fd <= 16; fd++) /* the keeper lets these go on */
        close(fd);
}

#ifdef __x86_64__
static bool may_read_bases; /* of the segments FS and GS; the kernel says so */
#endif

/* What the ABI has a function leave as it was: direction, alignment and ID flags, rounding and traps, segments, x87 without MMX. */
static uint64_t way_of_work(void)
{
    uint64_t way = 0;
#ifdef __x86_64__
    uint64_t fs = 0, gs = 0;
    uint16_t control, segments[4];
    struct {
        _Alignas(16) uint8_t bytes[512];
    } x87; /* byte 4: which of its registers are in use */

    if (may_read_bases)
        __asm__("rdfsbase %0; rdgsbase %1" : "=r"(fs), "=r"(gs));
    __asm__("fnstcw %0; fxsave %1" : "=m"(control), "=m"(x87));
    __asm__("mov %%ds, %0; mov %%es, %1; mov %%fs, %2; mov %%gs, %3"
            : "=m"(segments[0]), "=m"(segments[1]), "=m"(segments[2]), "=m"(segments[3]));
    const uint64_t parts[] = {__builtin_ia32_readeflags_u64() & 0x240400,
                              __builtin_ia32_stmxcsr() & 0xffc0,
                              fs,
                              gs,
                              control,
                              x87.bytes[4],
                              segments[0],
                              segments[1],
                              segments[2],
                              segments[3]};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        way = (way ^ parts[i]) * 0x9e3779b97f4a7c15 ^ way >> 29;
#endif
    return way;
}

/* judge_invoke. Not 0: the registers that a function leaves to its caller, rbx, rbp and r12 to r15, are others than before. */
#ifdef __x86_64__
uint64_t judge_invoke_and_look(void *arguments);
__asm__(".text\n"
        ".type judge_invoke_and_look, @function\n"
        "judge_invoke_and_look:\n"
        "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp\n"
        "lea 1(%rsp), %rbx; lea 2(%rsp), %rbp; lea 3(%rsp), %r12\n"
        "lea 4(%rsp), %r13; lea 5(%rsp), %r14; lea 6(%rsp), %r15\n"
        "call judge_invoke\n"
        "lea 1(%rsp), %rax; xor %rbx, %rax\n"
        "lea 2(%rsp), %rcx; xor %rbp, %rcx; or %rcx, %rax\n"
        "lea 3(%rsp), %rcx; xor %r12, %rcx; or %rcx, %rax\n"
        "lea 4(%rsp), %rcx; xor %r13, %rcx; or %rcx, %rax\n"
        "lea 5(%rsp), %rcx; xor %r14, %rcx; or %rcx, %rax\n"
        "lea 6(%rsp), %rcx; xor %r15, %rcx; or %rcx, %rax\n"
        "add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
        "ret\n");
#else
static uint64_t judge_invoke_and_look(void *arguments)
{
    judge_invoke(arguments);
    return 0;
}
#endif

static int by_byte(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* A large qsort asks, the first time, how much memory there is. */
static void ask_before(void)
{
    static char bytes[4 * JUDGE_PAGE];

    qsort(bytes, sizeof bytes, 1, by_byte);
}

static judge_head *head;

bool judge_is_shared(const void *bytes)
{
    return (uintptr_t)bytes - (uintptr_t)head < JUDGE_SIZE;
}

/* The batch is done, or something is asked: whoever answers says that it goes on. The one place where a host asks. */
__attribute__((noinline)) static void stop(void)
{
    if (syscall(SYS_sched_yield) != 0)
        __builtin_trap(); /* its keeper has gone */
}

int64_t judge_ask(judge_question question)
{
    head->question = question;
    stop();
    return head->question.answer;
}

/* What stands above it, such as the environment, nobody writes any more. */
__attribute__((noinline)) static _Noreturn void serve(void)
{
    const uint64_t usual = way_of_work();

    head->stack = (uintptr_t)__builtin_dwarf_cfa();
    for (;;) {
        stop();
        char *arguments = (char *)head + JUDGE_ARGUMENTS;
        uint64_t changed = 0;
        head->blocks = 0;
        if (head->calls == 0)
            touch(head);
        for (uint64_t i = 0; i < head->calls; i++) {
            char *call = arguments + i * judge_arguments_size;

            if (i + 1 < head->calls)
                judge_invoke(call);
            else /* a test's only one; looks cost time */
                changed = judge_invoke_and_look(call);
            if (heap_used > 0)
                forget_heap(head);
        }
        head->changed = changed != 0 || way_of_work() != usual;
        errno = 0;
    }
}

/* The vDSO tells the time without a system call, and the pages before it hold it: they go. */
static void forget_clock(void)
{
    char line[512], *end;
    FILE *maps = fopen("/proc/self/maps", "r");

    need(maps != NULL, "host: no /proc/self/maps\n");
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "[vvar") != NULL || strstr(line, "[vdso]") != NULL) {
            char *from = (char *)strtoull(line, &end, 16); // NOLINT(performance-no-int-to-ptr)

            need(munmap(from, strtoull(end + 1, NULL, 16) - (uintptr_t)from) == 0, "host: the vDSO stays\n");
        }
    fclose(maps);
}

int main(int argc, char *argv[])
{
    need(argc >= 2, "host: where?\n");
    head = (judge_head *)strtoull(argv[1], NULL, 10);

    forget_clock();
    ask_before();
    judge_prepare();
    if (!map_memory((char *)head)) { /* once more, elsewhere */
        char *words[] = {argv[0], argv[1], argv[1], argv[1], argv[1], argv[1], argv[1], argv[1], NULL};

        need(argc < 8, "host: the place of the shared memory is taken\n");
        words[argc + 1] = NULL;
        /* By its name: /proc shows the processes of another namespace. */
        execve((const char *)getauxval(AT_EXECFN), words, environ);
        need(false, "host: the place of the shared memory is taken\n");
    }
#ifdef __x86_64__
    may_read_bases = (getauxval(AT_HWCAP2) & 2) != 0;
#endif
#ifdef PR_SET_TSC
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0); /* no clock */
#endif
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    shut_in_and_send_listener();
    serve();
}
