# SPDX-License-Identifier: PostgreSQL
"""The jobs that people and CI run, step by step: `make`, `make test` and the others. jobs.toml lists the steps."""
