# SPDX-License-Identifier: PostgreSQL
"""`look`: what compaction would do to the pages of a table's file, one drawn, and how fast."""
