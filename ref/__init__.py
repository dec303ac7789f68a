# SPDX-License-Identifier: PostgreSQL
"""The oracles: every subject's definition, executable, to be read.

One module a subject. `xid` (ring arithmetic) and `page` (heap page layout) are the ground under the others. Nothing
here is fast on purpose; the kernels in csrc/ are held against it byte by byte. Only the standard library (and numpy,
where arrays are the point) is imported.
"""
