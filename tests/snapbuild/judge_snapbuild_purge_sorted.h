/* SPDX-License-Identifier: PostgreSQL */
#define JUDGE_SORTED true
#include "../tests/snapbuild/judge_snapbuild_purge.h"
