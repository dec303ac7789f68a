# SPDX-License-Identifier: PostgreSQL
"""Shards: parts of a layer's work for one stem, each a command of its own that can run beside the others.

A runner that is told --list prints a line for each shard that it has. Told --join FOLDER it makes the stem's one result
of those of its shards. `make farm` (tools/farm/) runs them.
"""

import json
from collections import Counter
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from tools.common import results
from tools.common.results import Result


class ShardError(ValueError):
    """Results of shards that make no whole."""


class Shard(BaseModel):
    """One line of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stem: str
    name: str
    """Unique in the layer and stem; a file's name."""
    words: dict[str, str] = {}
    """Variables of make that narrow the layer's target to this shard, beside STEM."""


def say(stem: str, name: str, **words: object) -> None:
    """Print a shard's line."""
    shard = Shard(stem=stem, name=name, words={word: str(value) for word, value in words.items()})
    click.echo(shard.model_dump_json())


def heard(output: str) -> list[Shard]:
    """The shards in what a target has printed, which may have built things before."""
    lines = [line for line in output.splitlines() if line.startswith('{"stem"')]
    return [Shard.model_validate(json.loads(line)) for line in lines]


def together(shards: list[Result]) -> list[Result]:
    """The shards, if they make a whole: of one layer, stem, commit and level of the CPU, and nothing twice."""
    if not shards:
        raise ShardError("there is no shard to join")
    for field in ("layer", "stem", "commit", "cpu_level"):
        if len(values := {getattr(shard, field) for shard in shards}) > 1:
            raise ShardError(f"shards of several values of '{field}' make no whole: {', '.join(sorted(values))}")
    counted = Counter(item.name for shard in shards for item in shard.items)
    if twice := sorted(name for name, n in counted.items() if n > 1):
        raise ShardError(f"in more than one shard of {shards[0].layer} {shards[0].stem}: {', '.join(twice)}")
    return shards


def load(folder: Path) -> list[Result]:
    """The results of a layer's shards for a stem."""
    return together([results.read(path) for path in sorted(folder.glob("*.json"))])


def tools(shards: list[Result]) -> dict[str, str]:
    """The tools that they used."""
    return {name: version for shard in shards for name, version in shard.tools.items()}
