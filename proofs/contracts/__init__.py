# SPDX-License-Identifier: PostgreSQL
"""Proofs of C text for every length, by Frama-C's WP, of contracts beside the code: proofs/STEM/contracts.toml."""
