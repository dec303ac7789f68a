# SPDX-License-Identifier: PostgreSQL
"""`simulate`: foreground, checkpointer and autovacuum on a simulated device, with shares and without."""
