# SPDX-License-Identifier: PostgreSQL
"""The audit of the proofs: what is claimed is proved, and it is still the claim that was last reviewed."""
