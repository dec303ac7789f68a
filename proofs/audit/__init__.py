# SPDX-License-Identifier: PostgreSQL
"""The audit of the proofs: each claim is proved, and it is the claim that was last reviewed."""
