# SPDX-License-Identifier: PostgreSQL
"""Proves the C text of kernels for every input up to a bound, by CBMC; and refutes changed kernels by the same proofs.

proofs/STEM/bounded.toml lists the proofs. Each has a harness in proofs/STEM/bounded/: it takes any input, calls the C
code, and claims what must hold. CBMC also checks what C leaves undefined, and that no loop goes beyond the bound. A
change of C that no check refutes is a failure. Without CBMC all are reported as skipped.
"""

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proofs.bounded import cbmc, listing
from proofs.bounded.listing import Change, Proof
from tools.common import results
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import console

SOURCE, CSRC, WORK = Path("proofs"), Path("csrc"), Path("build/bounded")
LISTING = "proofs/{stem}/bounded.toml"


@dataclass(frozen=True)
class Attempt:
    """One run of CBMC: a proof, with the code as it is or with one change."""

    stem: str
    proof: Proof
    mutant: Mutant | None = None

    @property
    def name(self) -> str:
        return self.mutant.name if self.mutant else self.proof.name


def sources(attempt: Attempt) -> Path:
    """A copy of csrc/ with the proof's smaller constants, and with the mutant's change."""
    folder = WORK / attempt.stem / re.sub(r"\W+", "_", attempt.name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CSRC, folder / "csrc", ignore=shutil.ignore_patterns("ffi"))
    if attempt.mutant:
        change = Change(file=attempt.mutant.file, old=attempt.mutant.old, new=attempt.mutant.new)
        change.make(folder / "csrc", attempt.name)
    for change in attempt.proof.reduce:
        change.make(folder / "csrc", attempt.name)
    return folder / "csrc"


def judge(attempt: Attempt, checked: cbmc.Checked) -> str:
    """Why the attempt failed; "" if all is as it must be."""
    if attempt.mutant is None:
        if checked.failed:
            return f"refuted: {'; '.join(checked.failed[:3])}"
        return "" if checked.claims else "it claims nothing"
    if not checked.failed:
        return "SURVIVES: no check fails"
    if not any(failed.startswith(attempt.mutant.killed_by) for failed in checked.failed):
        return f"refuted by {'; '.join(checked.failed[:3])}, not by {attempt.mutant.killed_by!r}"
    return ""


def run(attempt: Attempt) -> dict[str, Any]:
    """Try it. The item of its result."""
    started = time.monotonic()
    csrc, proof = sources(attempt), attempt.proof
    files = [SOURCE / attempt.stem / "bounded" / proof.harness, *(csrc / file for file in proof.source)]
    includes = [csrc, SOURCE / "bounded"]
    try:
        checked = cbmc.check(files, includes, [f"{name}={value}" for name, value in proof.define.items()], proof.unwind)
        reason = judge(attempt, checked)
    except cbmc.ToolBrokenError as error:
        checked, reason = cbmc.Checked(0, 0, []), str(error)
    seconds = time.monotonic() - started
    found = f"{checked.checks} checks" if attempt.mutant is None else f"refuted: {'; '.join(checked.failed[:1])}"
    console().print(f"  {attempt.stem}, {attempt.name}: {reason or found} ({seconds:.0f} s)", markup=False)
    more = {"checks": checked.checks, "says": proof.says, "mutant": attempt.mutant is not None}
    return {
        "name": attempt.name,
        "status": "failed" if reason else "passed",
        "reason": reason,
        "seconds": seconds,
        **more,
    }


def prove(stem: str, only: str, jobs: int) -> bool:
    """All proofs and mutants of one stem. False if one failed."""
    proofs = listing.load(Path(LISTING.format(stem=stem)))
    attempts = [Attempt(stem, proof, mutant) for proof in proofs for mutant in (None, *proof.mutant)]
    attempts = [attempt for attempt in attempts if only in attempt.name]
    tools: dict[str, str] = {}
    try:
        tools["CBMC"] = cbmc.find()[1]
        with ThreadPoolExecutor(jobs) as pool:
            items = list(pool.map(run, attempts))
    except cbmc.ToolMissingError as error:
        items = [{"name": attempt.name, "status": "skipped", "reason": str(error)} for attempt in attempts]
    good = [item for item in items if item["status"] == "passed"]
    held = sum(not item["mutant"] for item in good)
    total = sum(attempt.mutant is None for attempt in attempts)
    says = (
        f"{held} of {total} proved of the C text, {sum(item['checks'] for item in good if not item['mutant'])} checks; "
    )
    says += f"{len(good) - held} of {len(attempts) - total} changes refuted"
    if not only:
        results.write("prove-c", stem, items, says=says, tools=tools)
    said = says if tools else f"SKIPPED, {items[0]['reason']}" if items else "nothing of that name"
    console().print(f"prove-c, {stem}: {said}", markup=False)
    return all(item["status"] != "failed" for item in items)


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--only", default="", help="Only names with this in them; then no result is written.")
@click.option("--jobs", default=2, help="So many at a time.")
def main(stem: str, only: str, jobs: int) -> None:
    stems = with_cell(LISTING, stem)
    try:
        held = [prove(name, only, jobs) for name in stems]
    except cbmc.ToolBrokenError as error:
        raise click.ClickException(str(error)) from error
    raise SystemExit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
