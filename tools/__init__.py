# SPDX-License-Identifier: PostgreSQL
"""What the scripts of all layers share: rows, environment, results, mutants, progress, jobs."""
