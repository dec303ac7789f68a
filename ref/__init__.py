# SPDX-License-Identifier: PostgreSQL
"""The oracles: every subject's definition, executable, to be read.

One module a subject. The others build on `xid` (ring arithmetic) and `page` (heap page layout). These modules are
written to be read, not to be fast. The tests compare the kernels in csrc/ with them byte by byte. They import only the
standard library, and numpy where arrays are the point.
"""
