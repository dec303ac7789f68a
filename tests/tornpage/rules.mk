# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/tornpage/traced.c runs, and the table of constants that they look into.
TRACED_tornpage      := upstream scalar \
	$(patsubst csrc/tornpage/%.c,%,$(filter csrc/tornpage/avx2.c csrc/tornpage/avx512.c,$(KERNEL_SOURCES)))
TRACED_DATA_tornpage := pgq_tornpage_base_offsets
