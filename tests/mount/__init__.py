# SPDX-License-Identifier: PostgreSQL
"""Tests of `pgquern mount`: the file system alone, under power losses, and under real servers."""
