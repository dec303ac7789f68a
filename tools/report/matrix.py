# SPDX-License-Identifier: PostgreSQL
"""The matrix of stems and layers: the contents of each cell, read from the tree.

    python -m tools.report.matrix            print it
    python -m tools.report.matrix --check    fail when a cell is empty without a reason

A stem exists once its oracle does. A cell that is empty on purpose has its reason in SOUNDNESS.md, under "Empty
cells", in a table whose rows are `| stem | layer | reason |`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import click

from tools.common.matrix import stems

LAYERS = {
    "model": "spec/{0}/*.tla",
    "proof": "proofs/{0}/*.v",
    "oracle": "ref/{0}.py",
    "kernel": "csrc/{0}/*.c",
    "test": "tests/{0}/test_*.py",
    "bench": "bench/{0}/*.cc",
}


@dataclass(frozen=True)
class Row:
    """A stem and, for each layer, the files in its cell."""

    stem: str
    cells: dict[str, list[str]]


def rows(top: Path = Path()) -> list[Row]:
    """Every stem of the house, by name."""
    return [
        Row(stem, {layer: sorted(p.name for p in top.glob(glob.format(stem))) for layer, glob in LAYERS.items()})
        for stem in stems(top)
    ]


def reasons(soundness: str) -> dict[tuple[str, str], str]:
    """(stem, layer) -> why the cell is empty, from the text of SOUNDNESS.md."""
    section = soundness.partition("## Empty cells")[2].partition("\n## ")[0]
    found = re.findall(r"^\| *`?(\w+)`? *\| *(\w+) *\| *(.+?) *\|$", section, re.MULTILINE)
    return {(stem, layer): reason for stem, layer, reason in found}


def missing(table: list[Row], why: dict[tuple[str, str], str]) -> list[str]:
    """Cells that are empty and have no reason."""
    return [
        f"{row.stem}: no {layer} ({LAYERS[layer].format(row.stem)}), and SOUNDNESS.md gives no reason"
        for row in table
        for layer, files in row.cells.items()
        if not files and (row.stem, layer) not in why
    ]


def cell_text(layer: str, files: list[str]) -> str:
    """The contents of a cell in a few words."""
    noun = {"model": "module", "proof": "file", "kernel": "file", "test": "file", "bench": "file"}.get(layer)
    if not files:
        return "–"
    return files[0] if noun is None or len(files) == 1 else f"{len(files)} {noun}s"


def markdown(table: list[Row]) -> str:
    """The matrix as a Markdown table."""
    lines = ["| stem | " + " | ".join(LAYERS) + " |", "|---" * (len(LAYERS) + 1) + "|"]
    for row in table:
        texts = [cell_text(layer, files) for layer, files in row.cells.items()]
        lines.append(f"| `{row.stem}` | " + " | ".join(texts) + " |")
    return "\n".join(lines)


@click.command()
@click.option("--check", is_flag=True, help="Fail when a cell is missing.")
def main(check: bool) -> None:
    """Print or check the matrix."""
    table = rows()
    if not check:
        click.echo(markdown(table))
    elif faults := missing(table, reasons(Path("SOUNDNESS.md").read_text())):
        raise click.ClickException("\n".join(faults))
    else:
        click.echo("matrix: no cell is missing")


if __name__ == "__main__":
    main()
