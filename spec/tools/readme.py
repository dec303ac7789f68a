# SPDX-License-Identifier: PostgreSQL
"""The table of models in spec/README.md: written from the configurations' sentences and the manifest's figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from spec.tools.configs import Config
from spec.tools.manifest import Entry, key

MARKED = re.compile(r"(?<=<!-- models: written by 'make model-accept' -->\n).*?(?=<!-- end of models -->)", re.DOTALL)


def table(configs: Sequence[Config], accepted: dict[str, Entry]) -> str:
    """The table, one row a configuration."""
    rows = ["| model | says | states, or what is violated |", "|---|---|---|"]
    for config in configs:
        entry = accepted.get(key(config))
        if entry is None:
            continue  # the run itself complains of it
        if "violates" in entry:
            shows = f"fails: {entry['violates']}, {entry['traceLength']} states"
        elif "distinctStates" in entry:
            shows = f"{entry['distinctStates']:,} distinct, depth {entry['stateDepth']}"
        else:
            shows = "holds"
        rows.append(f"| `{config.stem}/{config.name}` | {config.says} | {shows} |")
    return "\n".join(rows) + "\n"


def differs(path: Path, configs: Sequence[Config], accepted: dict[str, Entry]) -> str:
    """The first row in which the README's table isn't what it must be; nothing if it is."""
    match = MARKED.search(path.read_text()) if path.is_file() else None
    if match is None:
        return "no table found"
    must, there = table(configs, accepted).splitlines(), match[0].splitlines()
    wrong = [f"'{row}' is missing" for row in must if row not in there]
    wrong += [f"'{row}' is too much" for row in there if row not in must]
    return wrong[0] if wrong else ("" if must == there else "rows out of order")


def write(path: Path, configs: Sequence[Config], accepted: dict[str, Entry]) -> None:
    """Rewrite the table in place."""
    path.write_text(MARKED.sub(lambda _: table(configs, accepted), path.read_text()))
