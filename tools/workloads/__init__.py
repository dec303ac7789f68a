# SPDX-License-Identifier: PostgreSQL
"""`workloads`: two commit streams through the snapshot builder, upstream's way and ours."""
