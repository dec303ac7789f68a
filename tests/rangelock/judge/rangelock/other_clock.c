/* SPDX-License-Identifier: PostgreSQL */
/* Right but for its clock: a time limit ends early, or late, when somebody sets that one. */
#include <time.h>

#undef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC CLOCK_REALTIME

#include "right.c"
