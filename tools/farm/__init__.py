# SPDX-License-Identifier: PostgreSQL
"""`make farm`: the long work as many small jobs, on this machine or on a cluster."""
