# SPDX-License-Identifier: PostgreSQL
"""Which functions of upstream have changed since our models, proofs and definitions were written after them."""
