# SPDX-License-Identifier: PostgreSQL
"""The report: what every layer wrote to build/results/, on one page and in one table."""
