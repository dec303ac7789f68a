# SPDX-License-Identifier: PostgreSQL
"""pgquern's kernels for Python: one module a stem, over the C library by cffi in API mode.

Every call releases the GIL while C runs; pgquern.sharing says what threads may share. Errors are PgquernError with the
codes of csrc/pgquern.h. An argument of a wrong type is a TypeError; one outside the range of its C type, OverflowError.
"""

from pgquern.cpu import VariantInfo, all_variants, cpu
from pgquern.errors import PgquernBufferError, PgquernError

__all__ = ["PgquernBufferError", "PgquernError", "VariantInfo", "all_variants", "cpu"]
