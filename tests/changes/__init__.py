# SPDX-License-Identifier: PostgreSQL
"""Break one thing at a time, in each layer, and see what tells."""
