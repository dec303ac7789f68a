# SPDX-License-Identifier: PostgreSQL
"""Recorded traces, as a TLA+ module: TLC here reads no JSON.

A trace is a file spec/STEM/traces/NAME.jsonl.xz: a line of facts about the whole, then a line an event. NAME is the
definition in the module, which the head of TraceSTEM.tla explains. [traces] in spec/STEM/models.toml says which fields
hold XIDs, if any do.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from spec.tools import models
from tools.common.recordings import SUFFIX, load

SIZE, SMALL = 2**32, 2**16


def small(xid: int) -> int:
    """The XID on the small ring, which is the server's ring without its middle: differences and both orders stay."""
    if SMALL // 2 <= xid < SIZE - SMALL // 2:
        raise ValueError(f"XID {xid} is too far from the wrap for a ring of {SMALL}")
    return xid if xid < SMALL // 2 else xid - SIZE + SMALL


def value(thing: Any, xids: Collection[str], field: str = "", within: str = "") -> str:
    """A JSON value as a TLA+ expression: the value of `field` in the object that is the value of `within`."""
    match thing:
        case bool():
            return str(thing).upper()
        case int():
            return str(small(thing) if field in xids or f"{within}.{field}" in xids else thing)
        case str():
            return json.dumps(thing)
        case list():
            return f"<<{', '.join(value(item, xids, field, within) for item in thing)}>>"
        case dict():
            return f"[{', '.join(f'{name} |-> {value(item, xids, name, field)}' for name, item in thing.items())}]"
    raise TypeError(f"a trace may not hold {thing!r}")


def definition(path: Path, xids: Collection[str]) -> str:
    """One trace."""
    head, *events = load(path)
    rows = ",\n".join(f"    {value(event, xids)}" for event in events)
    fields = "".join(f"{name} |-> {value(item, xids, name)}, " for name, item in head.items())
    return f"{path.name.removesuffix(SUFFIX)} == [{fields}events |-> <<\n{rows}>>]\n"


def generate(spec: Path, build: Path) -> None:
    """Write the module Recorded<Stem> of each stem that has traces, where TLC looks for it."""
    for folder in spec.glob("*/traces"):
        stem = folder.parent.name
        read = models.load(folder.parent / "models.toml").traces
        xids = read.xids if read else ()
        module = f"Recorded{stem.capitalize()}"
        body = "\n".join(definition(path, xids) for path in sorted(folder.glob(f"*{SUFFIX}")))
        into = build / "model" / stem
        into.mkdir(parents=True, exist_ok=True)
        file, text = into / f"{module}.tla", f"---- MODULE {module} ----\n{body}\n====\n"
        if not file.is_file() or file.read_text() != text:  # another run may be reading it
            file.write_text(text)
