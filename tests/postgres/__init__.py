# SPDX-License-Identifier: PostgreSQL
"""Real PostgreSQL servers as peers: pinned embedded majors, Debian's 15, and the extensions that go into them."""
