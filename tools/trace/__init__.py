# SPDX-License-Identifier: PostgreSQL
"""`trace-check` and `trace-record`: what recovery prefetching did in a real recovery, and whether it conforms."""
