# SPDX-License-Identifier: PostgreSQL
"""The cells of the house: for each stem and layer, whether it has files. `make lint` fails on an empty cell.

python -m tools.report.matrix
"""

from pathlib import Path

import click

from tools.common.matrix import stems

LAYERS = {
    "model": "spec/{0}/*.tla",
    "proof": "proofs/{0}/**/*.v",
    "oracle": "ref/{0}.py",
    "kernel": "csrc/{0}/*.c",
    "test": "tests/{0}/test_*.py",
    "bench": "bench/{0}/*.cc",
}


def missing(top: Path = Path()) -> list[str]:
    """The cells that are empty. A stem exists once its oracle does."""
    return [
        f"{stem}: no {layer} ({glob.format(stem)})"
        for stem in stems(top)
        for layer, glob in LAYERS.items()
        if not any(top.glob(glob.format(stem)))
    ]


@click.command()
def main() -> None:
    """Fail if a cell is missing, and say which."""
    if faults := missing():
        click.echo("\n".join(faults), err=True)
        raise SystemExit(1)
    click.echo("matrix: no cell is missing")


if __name__ == "__main__":
    main()
