# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/datfrozenxid/traced.c runs.
TRACED_datfrozenxid := scan scalar
