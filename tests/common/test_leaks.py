# SPDX-License-Identifier: PostgreSQL
"""Which leaks are the library's. That LeakSanitizer sees one, each run under it tries on a leak made on purpose."""

from tests.common import leaks

REPORT = """
=================================================================
==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 40 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_malloc ../../libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7f in PyThread_allocate_lock (/usr/bin/python3.11+0x1)
    #2 0x7f in pgq_row_create csrc/row/variants.c:22

Indirect leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_calloc (/usr/lib/libasan.so.8+0xb)
    #1 0x7f in __strdup (/lib/x86_64-linux-gnu/libc.so.6+0x7)
    #2 0x7f  (/home/you/build/ffi-asan/_pgquern.abi3.so+0x12)

SUMMARY: AddressSanitizer: 48 byte(s) leaked in 2 allocation(s).
"""


def test_a_leak_is_the_librarys_if_it_asked_for_the_memory() -> None:
    (leak,) = leaks.of_library(REPORT)
    assert leak.startswith("Indirect leak of 8 byte(s)")
