# SPDX-License-Identifier: PostgreSQL
"""The row that lies here is added to a copy of the tree, by tests/test_toy_row.py: pytest has nothing to collect."""

collect_ignore_glob = ["*"]
