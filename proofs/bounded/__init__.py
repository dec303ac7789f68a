# SPDX-License-Identifier: PostgreSQL
"""Bounded proofs of the C text: CBMC tries every input up to a bound. proofs/STEM/bounded.toml lists them."""
