# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/guarded.py."""

from pgquern import prefetch

from tests import guarded

prefetch.new_array = guarded.Arrays().new
