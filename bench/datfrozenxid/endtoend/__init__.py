# SPDX-License-Identifier: PostgreSQL
"""The function inside a real server."""
