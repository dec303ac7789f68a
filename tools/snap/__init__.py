# SPDX-License-Identifier: PostgreSQL
"""`snap`: a slot's .snap files, decoded and checked; what a purge keeps, and whether xmax is stale."""
