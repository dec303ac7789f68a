# SPDX-License-Identifier: PostgreSQL
"""`check-pages`: the pages of a relation file, checked; what is wrong is drawn."""
