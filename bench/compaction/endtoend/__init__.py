# SPDX-License-Identifier: PostgreSQL
"""Our kernels in the process of an unmodified server."""
