# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/tornpage/traced.c runs, and the table of constants that they look into.
TRACED_tornpage      := upstream scalar $(filter avx2 avx512 neon,$(LEVELS))
TRACED_DATA_tornpage := pgq_tornpage_base_offsets
