# SPDX-License-Identifier: PostgreSQL
"""The candidates of tests/*/judge/ as shards: those whose files have one name are judged one after another.

python -m tests.runners.candidates

The judge works in build/judge/NAME/.
"""

import tomllib
from pathlib import Path

import click

from tools.common import shards
from tools.common.matrix import with_cell

HOUSE = "house"
"""The stem of tests/judge/test_judge.py's results."""


def names() -> list[str]:
    """The names of the files, without their ends."""
    places = [Path("tests", stem, "judge.toml") for stem in with_cell("tests/{stem}/judge.toml")]
    entries = [entry for place in places for entry in tomllib.loads(place.read_text()).get("candidates", [])]
    return sorted({Path(entry["file"]).stem for entry in entries})


@click.command(help=__doc__)
def main() -> None:
    """Print them."""
    for name in names():
        shards.say(HOUSE, name, NAME=name)


if __name__ == "__main__":
    main()
