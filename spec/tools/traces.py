# SPDX-License-Identifier: PostgreSQL
"""Recorded traces, as a TLA+ module: TLC here reads no JSON.

A trace is a file spec/STEM/traces/NAME.jsonl, {"first": XID, "full": bool, ...} and then a line an event; NAME is the
definition in the module, which the head of TraceSTEM.tla explains.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SIZE, SMALL = 2**32, 2**16
XIDS = {"first", "xid", "top", "subs", "oldest", "next", "next_phase_at", "added", "xmin", "xmax", "committed"}


def small(xid: int) -> int:
    """A XID on the small ring, which is the server's without its middle: differences and both orders stay."""
    if SMALL // 2 <= xid < SIZE - SMALL // 2:
        raise ValueError(f"XID {xid} is too far from the wrap for a ring of {SMALL}")
    return xid if xid < SMALL // 2 else xid - SIZE + SMALL


def value(thing: Any, xids: bool = False) -> str:
    """A JSON value as a TLA+ expression; numbers under `xids` are XIDs."""
    match thing:
        case bool():
            return str(thing).upper()
        case int():
            return str(small(thing) if xids else thing)
        case str():
            return json.dumps(thing)
        case list():
            return f"<<{', '.join(value(item, xids) for item in thing)}>>"
        case dict():
            # A purge of catchange is told in counts, the array in a file in XIDs.
            return f"[{', '.join(f'{name} |-> {value(item, is_xid(name, thing))}' for name, item in thing.items())}]"
    raise TypeError(f"a trace may not hold {thing!r}")


def is_xid(name: str, of: dict[str, Any]) -> bool:
    return name in XIDS or (name == "catchange" and "committed" in of)


def definition(path: Path) -> str:
    """One trace."""
    head, *events = (json.loads(line) for line in path.read_text().splitlines())
    first, full = small(head["first"]), value(head["full"])
    rows = ",\n".join(f"    {value(event)}" for event in events)
    return f"{path.stem} == [first |-> {first}, full |-> {full}, events |-> <<\n{rows}>>]\n"


def generate(spec: Path, build: Path) -> None:
    """Write the module Recorded<Stem> of each stem that has traces, where TLC looks for it."""
    into = build / "model" / "traces"
    into.mkdir(parents=True, exist_ok=True)
    for folder in spec.glob("*/traces"):
        module = f"Recorded{folder.parent.name.capitalize()}"
        body = "\n".join(definition(path) for path in sorted(folder.glob("*.jsonl")))
        (into / f"{module}.tla").write_text(f"---- MODULE {module} ----\n{body}\n====\n")
