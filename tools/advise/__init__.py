# SPDX-License-Identifier: PostgreSQL
"""`advise`: what each recovery concurrency would bring, on a simulated device."""
