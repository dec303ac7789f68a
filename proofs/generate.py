# SPDX-License-Identifier: PostgreSQL
"""Print the C of the programs in proofs/STEM/Generated.v into csrc/. Compiles them, and audits nothing."""

from pathlib import Path

import click

from proofs.audit.coq import compile_sources, copy_sources
from proofs.audit.printed import GENERATED, check_printed
from proofs.audit.sources import Audit, listed_sources, stem_of
from tools.common.progress import console


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--jobs", default=2, help="How many files Coq compiles at once.")
def main(stem: str, jobs: int) -> None:
    source, build = Path("proofs"), Path("build/proofs")
    files = listed_sources(source)
    wanted = [f for f in files if f.endswith(f"/{GENERATED}") and stem in ("", stem_of(f))]
    copy_sources(source, build, files)
    audit = Audit()
    if compile_sources(build, wanted, jobs, audit, console()):
        check_printed(Path(), build, wanted, audit, accept=True)
    if audit.problems:
        raise click.ClickException("\n".join(text for _, text in audit.problems))


if __name__ == "__main__":
    main()
