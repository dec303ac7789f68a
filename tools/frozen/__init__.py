# SPDX-License-Identifier: PostgreSQL
"""`frozen`: who holds a database's datfrozenxid back, and what a vacuum would make of it."""
