# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/guarded.py."""

from pgquern import datfrozenxid

from tests import guarded

datfrozenxid.new_array = guarded.Arrays().new
