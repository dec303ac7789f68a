# SPDX-License-Identifier: PostgreSQL
"""`judge`: a kernel of anybody's own on trial. tests/STEM/judge.toml says what that means for its kinds."""
