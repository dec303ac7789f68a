# SPDX-License-Identifier: PostgreSQL
"""Our kernels inside unmodified servers: how long recovery and VACUUM take."""
