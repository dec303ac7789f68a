# SPDX-License-Identifier: PostgreSQL
"""Runs the proofs of a list, and the same proofs with one change of C each, which must stop them."""

import re
import shutil
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol

import click

from proofs.ctext.listing import Change, Proof, load
from proofs.ctext.outcome import Checked, ToolBrokenError, ToolMissingError, UndecidedError
from tools.common import results
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import console

CSRC = Path("csrc")


class Tool(Protocol[Proof]):
    """One way to prove C text."""

    layer: str
    """Of its results."""
    listing: str
    """The path of a stem's list, with {stem} in it."""
    kind: type[Proof]
    """Of an entry of the list."""
    counts: str
    """What is counted: "checks"."""

    def find(self) -> dict[str, str]:
        """The tool, with its version. Raises ToolMissingError or ToolBrokenError."""

    def check(self, stem: str, proof: Proof, csrc: Path, must_fail: str) -> Checked:
        """Try a proof on a copy of csrc/; must_fail: of a change, what it must stop, "" without one.

        Raises ToolBrokenError or UndecidedError.
        """


@dataclass(frozen=True)
class Attempt(Generic[Proof]):
    """One run: a proof, with the code as it is or with one change."""

    stem: str
    proof: Proof
    mutant: Mutant | None = None

    @property
    def name(self) -> str:
        return self.mutant.name if self.mutant else self.proof.name

    def sources(self, work: Path) -> Path:
        """A copy of csrc/ with what the proof replaces, and with the change."""
        folder = work / self.stem / re.sub(r"\W+", "_", self.name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(CSRC, folder / "csrc", ignore=shutil.ignore_patterns("ffi"))
        if self.mutant:
            Change(file=self.mutant.file, old=self.mutant.old, new=self.mutant.new).make(folder / "csrc", self.name)
        for change in self.proof.reduce:
            change.make(folder / "csrc", self.name)
        return folder / "csrc"

    def judge(self, checked: Checked) -> str:
        """Why the attempt failed; "" if all is as it must be."""
        said = "; ".join(checked.failed[:3])
        if self.mutant is None:
            return f"not proved: {said}" if said else checked.fault
        if not said:
            return "SURVIVES: all is proved"
        if not any(self.mutant.killed_by in failed for failed in checked.failed):
            return f"stopped by {said}, not by {self.mutant.killed_by!r}"
        return ""


def attempts(stem: str, proofs: Sequence[Proof], only: str, one_in: int) -> list[Attempt[Proof]]:
    """All proofs, and of their changes one in so many, chosen by a checksum of the name; `only` is in each name."""
    every = [Attempt(stem, proof, mutant) for proof in proofs for mutant in (None, *proof.mutant)]
    sample = [one for one in every if one.mutant is None or zlib.crc32(one.name.encode()) % one_in == 0]
    return [attempt for attempt in sample if only in attempt.name]


def run(tool: Tool[Proof], attempt: Attempt[Proof]) -> dict[str, Any]:
    """Try it. The item of its result."""
    started = time.monotonic()
    checked, status = Checked(0, []), "failed"
    try:
        must_fail = attempt.mutant.killed_by if attempt.mutant else ""
        checked = tool.check(attempt.stem, attempt.proof, attempt.sources(Path("build", tool.layer)), must_fail)
        reason = attempt.judge(checked)
        status = "failed" if reason else "passed"
    except ToolBrokenError as error:
        reason = str(error)
    except UndecidedError as error:
        status, reason = "skipped", str(error)
    seconds = time.monotonic() - started
    found = f"{checked.count} {tool.counts}" if attempt.mutant is None else f"stops: {'; '.join(checked.failed[:1])}"
    console().print(f"  {attempt.stem}, {attempt.name}: {reason or found} ({seconds:.0f} s)", markup=False)
    more = {"count": checked.count, "says": attempt.proof.says, "mutant": attempt.mutant is not None}
    return {"name": attempt.name, "status": status, "reason": reason, "seconds": seconds, **more}


def prove(tool: Tool[Proof], stem: str, only: str, one_in: int, jobs: int) -> bool:
    """The proofs and changes of one stem. False if one failed."""
    wanted = attempts(stem, load(Path(tool.listing.format(stem=stem)), tool.kind), only, one_in)
    tools: dict[str, str] = {}
    try:
        tools = tool.find()
        with ThreadPoolExecutor(jobs) as pool:
            items = list(pool.map(lambda attempt: run(tool, attempt), wanted))
    except ToolMissingError as error:
        items = [{"name": attempt.name, "status": "skipped", "reason": str(error)} for attempt in wanted]
    good = [item for item in items if item["status"] == "passed"]
    proved = [item for item in good if not item["mutant"]]
    total = sum(attempt.mutant is None for attempt in wanted)
    says = f"{len(proved)} of {total} proved of the C text, {sum(item['count'] for item in proved)} {tool.counts}; "
    says += f"{len(good) - len(proved)} of {len(wanted) - total} changes stop a proof"
    says += f" (one in {one_in})" if one_in > 1 else ""
    if not only:
        results.write(tool.layer, stem, items, says=says, tools=tools)
    said = says if tools else f"SKIPPED, {items[0]['reason']}" if items else "nothing of that name"
    console().print(f"{tool.layer}, {stem}: {said}", markup=False)
    return all(item["status"] != "failed" for item in items)


def command(tool: Tool[Proof], text: str | None) -> click.Command:
    """The program of a tool; `text` is its help."""

    @click.command(help=text)
    @click.option("--stem", default="", help="Only this stem.")
    @click.option("--only", default="", help="Only names with this in them; then no result is written.")
    @click.option("--one-in", default=1, help="A sample: all proofs, and one change in N, chosen by its name.")
    @click.option("--jobs", default=2, help="So many at a time.")
    def main(stem: str, only: str, one_in: int, jobs: int) -> None:
        try:
            held = [prove(tool, name, only, one_in, jobs) for name in with_cell(tool.listing, stem)]
        except ToolBrokenError as error:
            raise click.ClickException(str(error)) from error
        raise SystemExit(0 if all(held) else 1)

    return main
