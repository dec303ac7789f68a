# SPDX-License-Identifier: PostgreSQL
"""`show`: the counterexample of a model's run, drawn."""
