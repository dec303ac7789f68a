# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/datfrozenxid/traced.c runs.
TRACED_datfrozenxid := scan scalar $(patsubst csrc/datfrozenxid/%.c,%,$(filter %/strided_avx2.c csrc/datfrozenxid/%_neon.c,$(KERNEL_SOURCES)))
