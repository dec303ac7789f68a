# SPDX-License-Identifier: PostgreSQL
"""Write build/proofs/STEM_proved.ml for each: compile oracle/Extract<Stem>.v and what it imports, without an audit."""

from pathlib import Path

import click

from proofs.audit.coq import compile_sources, copy_sources
from proofs.audit.sources import Audit, listed_sources, stem_of
from tools.common.progress import console


@click.command(help=__doc__)
@click.argument("stems", nargs=-1, required=True)
@click.option("--jobs", default=2, help="How many files Coq compiles at once.")
def main(stems: tuple[str, ...], jobs: int) -> None:
    source, build = Path("proofs"), Path("build/proofs")
    files = listed_sources(source)
    of = {stem_of(f): f for f in files if f.startswith("oracle/Extract")}
    if missing := [stem for stem in stems if stem not in of]:
        raise click.ClickException(f"_CoqProject has no oracle/Extract<Stem>.v for {', '.join(missing)}: add it")
    copy_sources(source, build, files)
    written = {build / f"{stem}_proved.ml": build / f"{of[stem]}o" for stem in stems}
    for text, compiled in written.items():
        if not text.exists():
            compiled.unlink(missing_ok=True)
    audit = Audit()
    if not compile_sources(build, [of[stem] for stem in stems], jobs, audit, console()):
        raise click.ClickException("\n".join(text for _, text in audit.problems))
    for text in written:
        text.touch()  # it is as new as the sources, though Coq may have had nothing to do


if __name__ == "__main__":
    main()
