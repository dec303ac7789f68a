/* SPDX-License-Identifier: PostgreSQL */
/*
 * Where operations come from, and how they end. For each chain of callers this counts how often an operation was made, failed,
 * was cut by a stop of the machine, and was interrupted: it moved fewer bytes than it was asked to. The driver prints the chains
 * as addresses in the program; tests/runners/calls.py makes source lines of them.
 *
 * The disks count their operations themselves. A stem that fails operations by its own rules counts them by world_call.
 */
#ifndef PGQUERN_TESTS_CALLS_H
#define PGQUERN_TESTS_CALLS_H

#include <stdbool.h>

typedef enum call_end { CALL_DONE, CALL_FAILED, CALL_CUT, CALL_INTERRUPTED, CALL_ENDS } call_end;

/*
 * One operation. what: a word for it, a literal. frame: __builtin_frame_address(0) of the function that does it; the program is
 * compiled with -fno-omit-frame-pointer. may_be_short: it could have moved fewer bytes.
 */
void world_call(const char *what, void *const *frame, call_end end, bool may_be_short);
/* A line for each chain: call WHAT MADE FAILED CUT INTERRUPTED ADDRESS,ADDRESS; INTERRUPTED is - if it never could be. */
void world_print_calls(void);

#endif
