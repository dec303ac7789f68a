/* SPDX-License-Identifier: PostgreSQL */
/* Right answers, but a page that it maps by the system call itself keeps the number of its calls. */
#include "pgquern.h"

pgq_status pgq_snapbuild_purge_scalar(pgq_snapbuild_committed *committed, uint32_t xmin);

#include <sys/mman.h>
#include <sys/syscall.h>

pgq_status candidate(pgq_snapbuild_committed *committed, uint32_t xmin)
{
    volatile uint32_t *calls = (volatile uint32_t *)0x300000000000;
    register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    register long r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    long got;

    __asm__ volatile("syscall"
                     : "=a"(got)
                     : "a"(SYS_mmap), "D"(calls), "S"(4096), "d"(PROT_READ | PROT_WRITE), "r"(r10), "r"(r8),
                       "r"(r9)
                     : "rcx", "r11", "memory");
    ++*calls;
    return pgq_snapbuild_purge_scalar(committed, xmin);
}
