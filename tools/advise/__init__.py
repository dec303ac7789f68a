# SPDX-License-Identifier: PostgreSQL
"""`advise` and `lag`: what each recovery concurrency would bring, on a simulated device."""
