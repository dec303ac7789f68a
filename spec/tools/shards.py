# SPDX-License-Identifier: PostgreSQL
"""The runs of a stem, read back from the results of shards in which each ran alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from spec.tools.models import ModelError, Run
from spec.tools.outcome import Outcome
from spec.tools.runner import Item
from tools.common.results import Result

KNOWN = {field.name for field in fields(Outcome)}


def items(runs: Sequence[Run], shards: Sequence[Result]) -> list[Item]:
    """An item for each of the runs, in their order. Raises ModelError if a shard is missing, or has another run."""
    found = {item.name: item for shard in shards for item in shard.items}
    if odd := found.keys() ^ {run.name for run in runs}:
        raise ModelError(f"{shards[0].stem}: the shards and models.toml do not have the same runs: {', '.join(odd)}")
    made = []
    for run in runs:
        seen = found[run.name].model_dump()
        told = {name: value for name, value in seen.items() if name in KNOWN}
        told |= {"log": Path(seen["log"]) if seen["log"] else None, "reason": ""}
        why = [seen["reason"]] if seen["reason"] else []
        made.append(Item(run, seen["status"], why, Outcome(**told), seen["again"]))
    return made
