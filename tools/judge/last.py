# SPDX-License-Identifier: PostgreSQL
"""The candidate's last call, in a file that outlives a crash: what it was given, and what came out.

tests/<stem>/judged.py says how to see the calls of a stem's binding, and what to make of one that went wrong: see Told.
"""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Call = dict[str, Any]
"""As JSON has it: `given`, and `got` once it has come back."""


class Keeper:
    """Writes each call to a file: what was given before it, what came out after it."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC)

    def forget(self) -> None:
        os.ftruncate(self._file, 0)

    def _write(self, call: Call) -> None:
        os.pwrite(self._file, json.dumps(call).encode() + b"\n", 0)

    @contextmanager
    def __call__(self, **given: Any) -> Generator[dict[str, Any], None, None]:
        """Around a call. What came out is put into the dictionary; a refusal puts itself there."""
        got: dict[str, Any] = {}
        self._write({"given": given})
        try:
            yield got
        except Exception as error:
            refused = [name for name in ("code", "index") if hasattr(error, name)]
            got |= {name: int(getattr(error, name)) for name in refused}
            if not refused:
                got["error"] = repr(error)
            raise
        finally:
            self._write({"given": given, "got": got})


def last_call(path: Path) -> Call | None:
    """The call that a file holds; None if there is none."""
    line = path.read_text(errors="replace").partition("\n")[0] if path.exists() else ""
    return json.loads(line) if line else None


@dataclass(frozen=True)
class Told:
    """A call that went wrong."""

    says: str
    """In plain text: the input, what is expected, what came out."""
    breaks: str
    """The words of the contract that it breaks, as they stand in the header; empty if the call did not come back."""
    picture: str
    """HTML."""
    regression: str
    """A test to paste: it passes with ours, and fails with the candidate."""
