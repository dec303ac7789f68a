# SPDX-License-Identifier: PostgreSQL
"""All arrays that these tests hand to kernels are guarded: see tests/guarded.py."""

from pgquern import snapbuild

from tests import guarded

snapbuild.new_array = guarded.Arrays().new
