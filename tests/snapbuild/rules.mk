# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/snapbuild/traced.c runs.
TRACED_snapbuild := purge_inplace purge_scalar purge_sorted purge_upstream full compress insert snapshot $(patsubst csrc/snapbuild/%.c,%,$(filter %purge_avx2.c,$(KERNEL_SOURCES)))
