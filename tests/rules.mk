# SPDX-License-Identifier: PostgreSQL
include tests/postgres/rules.mk
