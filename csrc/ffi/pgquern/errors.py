# SPDX-License-Identifier: PostgreSQL
"""A refusal by a kernel, as an exception."""

from typing import Any

from _pgquern import ffi, lib


def strerror(code: int) -> str:
    """The library's text for a code: what is wrong and what to do next."""
    return str(ffi.string(lib.pgq_strerror(code)).decode("ascii"))


class PgquernError(ValueError):
    """A refusal. code: as pgq_code in pgquern.h; index: the 1-based line pointer or array element, 0 if none."""

    def __init__(self, code: int, index: int = 0) -> None:
        super().__init__(f"line pointer or element {index}: {strerror(code)}" if index else strerror(code))
        self.code = code
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.code, self.index))


class PgquernBufferError(PgquernError, BufferError):
    """The refusal of an object whose memory cannot be given to C; its code is PGQ_BUFFER. why: as in "it is ..."."""

    def __init__(self, why: str = "it is not contiguous") -> None:
        super().__init__(lib.PGQ_BUFFER)
        self.why = why

    def __str__(self) -> str:
        return f"{super().__str__()}; of this one, {self.why}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (PgquernBufferError, (self.why,))
