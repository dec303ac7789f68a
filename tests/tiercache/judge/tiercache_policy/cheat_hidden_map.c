/* SPDX-License-Identifier: PostgreSQL */
/* Right, but its hand is not in *p: it stands in a mapping of its own, at an address that it knows. */
#define candidate_insert right_insert
static void candidate_insert(policy *p, uint32_t entry, uint64_t page);
#include "right.c"
#undef candidate_insert

void candidate_insert(policy *p, uint32_t entry, uint64_t page)
{
    register long flags __asm__("r10") = 0x100022, fd __asm__("r8") = -1, offset __asm__("r9") = 0;
    long place = 0x300000000000, number = 9; /* mmap: fixed, anonymous, no other mapping replaced */

    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(place), "S"(4096L), "d"(3L), "r"(flags), "r"(fd), "r"(offset)
                     : "rcx", "r11", "memory");
    *(volatile uint32_t *)place = entry;
    right_insert(p, entry, page);
}
