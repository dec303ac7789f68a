# SPDX-License-Identifier: PostgreSQL
"""The jobs that people and CI run: `make`, `make test` and the others. The Makefile lists their steps."""
