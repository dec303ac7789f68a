# SPDX-License-Identifier: PostgreSQL
"""Write the models of a subject as a folder for the TLA+ community's examples, and check it there by TLC alone.

build/examples/specifications/pgquern_STEM/ gets the modules, a configuration of each run, README.md and manifest.json.
Exits with 1 if a model does not end there as it must, and with 2 if it could not begin.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import examples, models
from spec.tools.models import ModelError
from spec.tools.outcome import ToolMissing
from tools.common.progress import bar, console

SPEC = Path("spec")


@click.command(help=__doc__)
@click.option("--stem", required=True, help="The subject, a folder of spec/.")
@click.option("--source", default="", help="The address where these models are kept, for the manifest.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
def main(stem: str, source: str, build: Path) -> None:
    """Write one folder."""
    try:
        runs = models.find(SPEC, stem)
        into = build / "examples" / "specifications"
        with bar(console()) as shown:
            task = shown.add_task(stem, total=len(examples.offered(runs)))
            folder = examples.export(stem, runs, SPEC, build, into, source, lambda: shown.advance(task))
    except ModelError as error:
        raise click.ClickException(str(error)) from error
    except ToolMissing as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from error
    console().print(f"{folder}: {len(list(folder.glob('*.cfg')))} models, each ended there as it must", soft_wrap=True)


if __name__ == "__main__":
    main()
