# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/snapbuild/traced.c runs, and tables of constants that they look into.
TRACED_snapbuild      := check purge_inplace purge_scalar purge_sorted purge_upstream full compress insert qsort snapshot \
	$(patsubst csrc/snapbuild/%.c,%,$(filter %purge_avx2.c %purge_avx512.c %purge_neon.c,$(KERNEL_SOURCES)))
TRACED_DATA_snapbuild := pgq_left_pack
