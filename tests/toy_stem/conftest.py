# SPDX-License-Identifier: PostgreSQL
"""The stem that lies here is added to a copy of the tree, by tests/test_toy_stem.py: pytest has nothing to collect."""

collect_ignore_glob = ["*"]
