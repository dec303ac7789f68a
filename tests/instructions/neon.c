/* SPDX-License-Identifier: PostgreSQL */
/* The intrinsics of neon.def on this CPU. */
#include "../tests/instructions/machine.h"
#include "common/cpu.h"
#include <arm_neon.h>

#include "../tests/instructions/functions.h"
#include "../tests/instructions/neon.def"
#include "../tests/instructions/lines.h"

static const instruction table[] = {
#include "../tests/instructions/neon.def"
};

const level instructions_neon = {"neon", pgq_cpu_neon, table, sizeof table / sizeof *table};
