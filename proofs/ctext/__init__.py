# SPDX-License-Identifier: PostgreSQL
"""What the two proofs of the C text share: a list of proofs, changes of C that must stop each, and how both are run."""
