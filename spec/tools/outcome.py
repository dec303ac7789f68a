# SPDX-License-Identifier: PostgreSQL
"""The result of a run of a model checker, and the errors of running one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

# success: everything was searched and holds. violation: a property fails. error: neither is known.
Result = Literal["success", "violation", "error", "skipped"]
Sort = Literal["invariant", "action", "liveness", "deadlock"]


class ToolMissing(RuntimeError):
    """A model checker or what it needs isn't there; the message says how to get it."""


class ToolBroken(RuntimeError):
    """A model checker is there and does not work; the message says what to do. Its runs fail."""


@dataclass(frozen=True)
class Ended:
    """How a process, or a run in a shared one, ended."""

    exit_code: int
    seconds: float
    cpu_seconds: float


@dataclass
class Outcome:
    """One run. Counts are of states; ``depth`` of steps from an initial state, itself 1; ``trace_length`` of states."""

    result: Result = "error"
    reason: str = ""
    property: str | None = None
    sort: Sort | None = None
    """How the property failed."""
    distinct: int | None = None
    total: int | None = None
    depth: int | None = None
    trace_length: int | None = None
    never_taken: list[str] = field(default_factory=list)
    actions: int = 0
    tool: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    log: Path | None = None
