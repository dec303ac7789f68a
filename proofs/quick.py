# SPDX-License-Identifier: PostgreSQL
"""A first look at the proofs: their audit and one changed definition, if they are compiled already; else SKIPPED.

    python -m proofs.quick [--stem STEM]

Writes build/results/proof/STEM.json as `make prove` does, and build/results/proof-changes-quick/STEM.json; if nothing
is compiled, build/results/proof-quick/STEM.json, which says so.
"""

from pathlib import Path

import click

from proofs.audit import __main__ as audit
from proofs.audit import coq
from proofs.audit.sources import listed_sources, required
from proofs.changes import attempt
from tools.common import results
from tools.common.matrix import with_cell
from tools.common.progress import console

SOURCE, BUILD, WORK = Path("proofs"), Path("build/proofs"), Path("build/proof-changes")
NOT_COMPILED = "the proofs are not compiled yet: `make prove` does that"


def skipped(stem: str) -> None:
    """A result for each stem that says why nothing was looked at."""
    for name in dict.fromkeys(theorem.stem for theorem in required(SOURCE) if stem in ("", theorem.stem)):
        item = {"name": f"the audit of {name}", "status": "skipped", "reason": NOT_COMPILED}
        results.write("proof" + results.QUICK, name, [item], says="not compiled yet", tools={})
    console().print(f"[yellow]SKIPPED[/] {NOT_COMPILED}")


def shortest(stem: str) -> list[str]:
    """The stem whose proofs are the shortest text: what is compiled anew there takes seconds. The ground has none."""
    rows = with_cell("proofs/{stem}/survivors.toml", stem)
    sizes = {row: sum(path.stat().st_size for path in (SOURCE / row).rglob("*.v")) for row in rows}
    return sorted(rows, key=lambda row: (sizes[row], row))[:1]


def changed(row: str) -> bool:
    """Try the first change of a stem; whether it stops a proof."""
    loaded = attempt.load(row, SOURCE, BUILD)
    tried = (attempt.attempt(loaded, change, BUILD, WORK) for change in loaded.changes)
    first = next(one for one in tried if one.verdict in ("killed", "survived"))
    killed = first.verdict == "killed"
    item = {"name": first.change.name, "status": "passed" if killed else "failed", "reason": first.change.says}
    says = f"{first.change.says}: {f'stops {first.by}' if killed else 'all is proved'}"
    results.write("proof-changes" + results.QUICK, row, [item], says=says, tools={})
    return killed


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
def main(stem: str) -> None:
    """Look, if there is something to look at."""
    if not coq.is_compiled(SOURCE, BUILD, listed_sources(SOURCE)):
        skipped(stem)
        return
    sound = audit.run(SOURCE, BUILD, results.RESULTS, stem=stem, jobs=2, accept=False, console=console())
    caught = all(changed(row) for row in shortest(stem))
    raise SystemExit(0 if sound and caught else 1)


if __name__ == "__main__":
    main()
