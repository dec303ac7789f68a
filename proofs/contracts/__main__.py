# SPDX-License-Identifier: PostgreSQL
"""Proves the contracts beside C code, for every length, by Frama-C's WP; and sees that changes of C stop a proof.

proofs/STEM/contracts.toml lists the functions. WP also proves that nothing which C leaves undefined is done. A change
of C with which all is proved is a failure. Without Frama-C all are reported as skipped.
"""

import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from proofs.bounded.listing import Change
from proofs.contracts import listing, wp
from proofs.contracts.listing import Proof
from tools.common import results
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import console

CSRC, WORK = Path("csrc"), Path("build/contracts")
LISTING = "proofs/{stem}/contracts.toml"


@dataclass(frozen=True)
class Attempt:
    """One run of WP: a proof, with the code as it is or with one change."""

    stem: str
    proof: Proof
    mutant: Mutant | None = None

    @property
    def name(self) -> str:
        return self.mutant.name if self.mutant else self.proof.name


def sources(attempt: Attempt) -> Path:
    """A copy of csrc/ as Frama-C can read it, and with the mutant's change."""
    folder = WORK / attempt.stem / re.sub(r"\W+", "_", attempt.name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CSRC, folder / "csrc", ignore=shutil.ignore_patterns("ffi"))
    if attempt.mutant:
        change = Change(file=attempt.mutant.file, old=attempt.mutant.old, new=attempt.mutant.new)
        change.make(folder / "csrc", attempt.name)
    for change in attempt.proof.reduce:
        change.make(folder / "csrc", attempt.name)
    return folder / "csrc"


def judge(attempt: Attempt, checked: wp.Checked, counted: bool) -> str:
    """Why the attempt failed; "" if all is as it must be. counted: this Frama-C counts goals as the list does."""
    if attempt.mutant is None:
        if checked.open:
            return f"not proved: {'; '.join(checked.open[:3])}"
        if counted and checked.goals != attempt.proof.goals:
            return f"it has {checked.goals} goals, not {attempt.proof.goals}; correct `goals` if that is right"
        return "" if checked.goals else "it claims nothing"
    if not checked.open:
        return "SURVIVES: all is proved"
    if not any(attempt.mutant.killed_by in goal for goal in checked.open):
        return f"stops at {'; '.join(checked.open[:3])}, not at {attempt.mutant.killed_by!r}"
    return ""


def run(tool: wp.Tool, attempt: Attempt) -> dict[str, Any]:
    """Try it. The item of its result."""
    started = time.monotonic()
    csrc, proof, checked = sources(attempt), attempt.proof, wp.Checked(0, [])
    status = "passed"
    try:
        checked = wp.check(tool, csrc / proof.source, csrc, proof.functions, proof.steps)
        reason = judge(attempt, checked, tool.major == wp.KNOWN)
        status = "failed" if reason else "passed"
    except wp.ToolBrokenError as error:
        status, reason = "failed", str(error)
    except wp.UndecidedError as error:
        status, reason = "skipped", str(error)
    seconds = time.monotonic() - started
    found = f"{checked.goals} goals" if attempt.mutant is None else f"stops: {'; '.join(checked.open[:1])}"
    console().print(f"  {attempt.stem}, {attempt.name}: {reason or found} ({seconds:.0f} s)", markup=False)
    more = {"goals": checked.goals, "says": proof.says, "mutant": attempt.mutant is not None}
    return {"name": attempt.name, "status": status, "reason": reason, "seconds": seconds, **more}


def prove(stem: str, only: str, jobs: int) -> bool:
    """All proofs and mutants of one stem. False if one failed."""
    proofs = listing.load(Path(LISTING.format(stem=stem)))
    attempts = [Attempt(stem, proof, mutant) for proof in proofs for mutant in (None, *proof.mutant)]
    attempts = [attempt for attempt in attempts if only in attempt.name]
    tools: dict[str, str] = {}
    try:
        tool = wp.find(WORK)
        tools["WP"] = tool.says
        with ThreadPoolExecutor(jobs) as pool:
            items = list(pool.map(lambda attempt: run(tool, attempt), attempts))
    except wp.ToolMissingError as error:
        items = [{"name": attempt.name, "status": "skipped", "reason": str(error)} for attempt in attempts]
    good = [item for item in items if item["status"] == "passed"]
    held = sum(not item["mutant"] for item in good)
    total = sum(attempt.mutant is None for attempt in attempts)
    goals = sum(item["goals"] for item in good if not item["mutant"])
    says = f"{held} of {total} proved of the C text for every length, {goals} goals; "
    says += f"{len(good) - held} of {len(attempts) - total} changes stop a proof"
    if not only:
        results.write("prove-contracts", stem, items, says=says, tools=tools)
    said = says if tools else f"SKIPPED, {items[0]['reason']}" if items else "nothing of that name"
    console().print(f"prove-contracts, {stem}: {said}", markup=False)
    return all(item["status"] != "failed" for item in items)


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--only", default="", help="Only names with this in them; then no result is written.")
@click.option("--jobs", default=2, help="So many at a time.")
def main(stem: str, only: str, jobs: int) -> None:
    stems = with_cell(LISTING, stem)
    try:
        held = [prove(name, only, jobs) for name in stems]
    except wp.ToolBrokenError as error:
        raise click.ClickException(str(error)) from error
    raise SystemExit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
