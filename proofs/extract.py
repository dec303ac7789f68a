# SPDX-License-Identifier: PostgreSQL
"""Write build/proofs/STEM_proved.ml: compile oracle/Extract<Stem>.v and what it imports, without an audit."""

from pathlib import Path

import click

from proofs.audit.coq import compile_sources, copy_sources
from proofs.audit.sources import Audit, listed_sources, stem_of
from tools.common.progress import console


@click.command(help=__doc__)
@click.argument("stem")
@click.option("--jobs", default=2, help="How many files Coq compiles at once.")
def main(stem: str, jobs: int) -> None:
    source, build = Path("proofs"), Path("build/proofs")
    files = listed_sources(source)
    wanted = [f for f in files if f.startswith("oracle/Extract") and stem_of(f) == stem]
    if not wanted:
        raise click.ClickException(f"_CoqProject has no oracle/Extract<Stem>.v for {stem}: add it")
    copy_sources(source, build, files)
    if not (build / f"{stem}_proved.ml").exists():
        (build / (wanted[0] + "o")).unlink(missing_ok=True)
    audit = Audit()
    if not compile_sources(build, wanted, jobs, audit, console()):
        raise click.ClickException("\n".join(text for _, text in audit.problems))


if __name__ == "__main__":
    main()
