# SPDX-License-Identifier: PostgreSQL
"""The report: the results of all layers in build/results/, on one page and in one table."""
