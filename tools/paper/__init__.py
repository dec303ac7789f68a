# SPDX-License-Identifier: PostgreSQL
"""The paper: its text is paper.typ; every number, table and figure in it comes from recorded results."""
