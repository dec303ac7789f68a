# SPDX-License-Identifier: PostgreSQL
"""Upstream's own tests, run by a server that has our kernels inside."""
