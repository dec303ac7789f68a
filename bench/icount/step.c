/* SPDX-License-Identifier: PostgreSQL */
/*
 * Counts the instructions that a kernel executes on a few inputs of a given shape: the same number on every run, however
 * busy the machine is. It is linked with a stem's icount.c.
 *
 *     step VARIANT SHAPE... [--plain]
 *
 * The program forks. The parent single-steps the child through each call; it prints the sum over CALLS calls, and how many
 * of them were in this program and not in libc (memcpy, memmove). With --plain the calls just run, and another tool counts
 * what counted_call executes. AVX-512 needs the stepping, because valgrind does not know it.
 */
#include "subject.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 4 }; /* as in run.py */

/* The exit status of the program that runs the calls. stepped: stop before each one, for the parent. */
static int run_calls(bool stepped)
{
    if (!subject_warm_up())
        return 1;
    for (int i = 0; i < CALLS; i++) {
        subject_next();
        if (stepped)
            raise(SIGUSR1);
        if (!counted_call())
            return 1;
    }
    return 0;
}

extern char __executable_start, etext; /* the linker's */

static unsigned long peek_register(pid_t child, size_t offset)
{
    return (unsigned long)ptrace(PTRACE_PEEKUSER, child, offset, 0);
}

/* Steps the stopped child on to counted_call, and through it to its return. False if the child is gone. */
static bool step_call(pid_t child, unsigned long *all, unsigned long *ours)
{
    unsigned long back = 0;
    int status;

    for (;;) {
        unsigned long ip = peek_register(child, offsetof(struct user_regs_struct, rip));

        if (back == 0 && ip == (unsigned long)counted_call) {
            unsigned long stack = peek_register(child, offsetof(struct user_regs_struct, rsp));

            back = (unsigned long)ptrace(PTRACE_PEEKDATA, child, stack, 0);
        }
        if (ip == back)
            return true;
        *all += back != 0;
        *ours += back != 0 && ip >= (unsigned long)&__executable_start && ip < (unsigned long)&etext;
        if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) != 0 || waitpid(child, &status, 0) != child ||
            !WIFSTOPPED(status))
            return false;
    }
}

static int step_child(pid_t child)
{
    unsigned long all = 0, ours = 0;
    int status;

    for (;;) {
        if (waitpid(child, &status, 0) != child)
            return 1;
        if (WIFEXITED(status))
            break;
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1 && !step_call(child, &all, &ours))
            return 1;
        if (WIFSIGNALED(status) || ptrace(PTRACE_CONT, child, 0, 0) != 0)
            return 1;
    }
    printf("%lu %lu\n", all, ours);
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    bool plain = argc > 1 && strcmp(argv[argc - 1], "--plain") == 0;
    pid_t child;

    if (argc < 3 || !subject_choose(argv[1], argc - 2 - plain, argv + 2)) {
        fprintf(stderr, "step: usage: step VARIANT SHAPE... [--plain]; or this CPU lacks the variant\n");
        return 2;
    }
    if (plain)
        return run_calls(false);
    child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(3);
        _exit(run_calls(true));
    }
    return child < 0 ? 3 : step_child(child);
}
