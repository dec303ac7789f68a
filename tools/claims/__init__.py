# SPDX-License-Identifier: PostgreSQL
"""`make claims`: the claims of CLAIMS.md, checked by what stands there."""
