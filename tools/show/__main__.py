# SPDX-License-Identifier: PostgreSQL
"""Draw the counterexample of one run of a model as a sequence diagram: build/show/STEM/RUN.html.

Without a run, list those of the subject. If a pattern matches more than one, only say how to start each by hand. Exits
with 1 if the run holds, so that there is nothing to draw, and with 2 if it could not begin.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import click

from spec.tools import apalache, cfg, counterexample, draw, models, tlc, traces
from spec.tools.counterexample import NoCounterexample
from spec.tools.models import ModelError, Run
from spec.tools.outcome import ToolMissing
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.common.picture import written

SPEC = Path("spec")


@click.command(help=__doc__)
@click.option("--stem", help="The subject, a folder of spec/.")
@click.option("--run", "pattern", default="", help="The run, as in spec/STEM/models.toml, or a pattern of some.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
@json_option()
def main(stem: str | None, pattern: str, build: Path, as_json: bool) -> None:
    """Draw one run."""
    runs = list[dict[str, str]]()
    try:
        found = models.find(SPEC, stem)
        if not (stem or pattern):
            stems = ", ".join(sorted({run.stem for run in found}))
            raise ModelError(
                f"say {option('STEM')}, one of {stems}; then the runs are listed, of which {option('RUN')} takes one"
            )
        if not pattern:
            if as_json:
                print_json({"runs": [{"stem": run.stem, "run": run.name, "says": run.says} for run in found]})
                return
            for run in found:
                click.echo(f"{run.name}: {run.says}")
            click.echo(f"{option('RUN', 'NAME')}, with the name of one run that must fail, draws its counterexample")
            return
        traces.generate(SPEC, build)
        wanted = choose(found, pattern)
        for run in wanted:
            configuration, command = by_hand(run, build)
            runs.append({"stem": run.stem, "run": run.name, "says": run.says}
                        | {"configuration": str(configuration), "command": command})  # fmt: skip
            if not as_json:
                click.echo(f"{run.key}: {run.says}\n  {configuration}\n  {command}")
        if len(wanted) > 1:
            if as_json:
                print_json({"runs": runs})
            return
        picture = counterexample.find(run, build)
    except NoCounterexample as error:
        if as_json:
            print_json({"runs": runs, "counterexample": None, "says": str(error)})
            sys.exit(1)
        click.echo(f"show: {error}", err=True)
        sys.exit(1)
    except (ModelError, ToolMissing) as error:
        click.echo(f"show: {error}", err=True)
        sys.exit(2)
    page = draw.html(picture).encode()
    drawn = written(build / "show" / picture.stem / f"{picture.run}.html", lambda file: file.write(page))
    if as_json:
        print_json({"runs": runs, "counterexample": picture.model_dump(mode="json"), "drawn": str(drawn)})
    else:
        click.echo(f"drawn: {drawn}")


def choose(found: Sequence[Run], pattern: str) -> list[Run]:
    """The runs that match."""
    if wanted := [run for run in found if fnmatch(run.name, pattern)]:
        return wanted
    names = [run.name for run in found]
    near = difflib.get_close_matches(pattern, names, 3, 0.5)
    more = f"did you mean {' or '.join(near)}?" if near else "pgquern show STEM lists those of a subject"
    raise ModelError(f"there is no run '{pattern}'; {more}")


def by_hand(run: Run, build: Path) -> tuple[Path, str]:
    """A run's configuration file, and the command that starts it."""
    command = apalache.by_hand(run, build) if run.symbolic else tlc.by_hand(run, build)
    return cfg.write(run, build), command


if __name__ == "__main__":
    main()
