# SPDX-License-Identifier: PostgreSQL
"""Small changes of the proved definitions, made by a machine, and which statement or proof shows each."""
