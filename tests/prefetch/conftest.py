# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/common/guard_pages.py."""

from pgquern import prefetch

from tests.common import guard_pages

prefetch.new_array = guard_pages.Arrays().new
