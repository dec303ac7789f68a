# SPDX-License-Identifier: PostgreSQL
"""pgquern's kernels for Python: one module a stem, over the C library by cffi in API mode.

Every call releases the GIL while C runs. Errors are PgquernError with the codes of csrc/pgquern.h.
"""

from pgquern.cpu import Row, cpu, rows
from pgquern.errors import PgquernError

__all__ = ["PgquernError", "Row", "cpu", "rows"]
