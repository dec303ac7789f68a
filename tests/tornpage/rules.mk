# SPDX-License-Identifier: PostgreSQL
# The files whose kernels tests/tornpage/traced.c runs.
TRACED_tornpage := upstream scalar
