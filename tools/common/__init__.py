# SPDX-License-Identifier: PostgreSQL
"""What the scripts of all layers share: results, rows, environment, changed sources, progress."""
