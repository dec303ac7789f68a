# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/common/guard_pages.py."""

from pgquern import datfrozenxid

from tests.common import guard_pages

datfrozenxid.new_array = guard_pages.Arrays().new
