# SPDX-License-Identifier: PostgreSQL
"""Recorded traces, as the models follow them: JSON lines, compressed. The first line says what the trace is of."""

import json
import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl.xz"


def load(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace."""
    return [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]


def save(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write a trace: its first line says what it is of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
