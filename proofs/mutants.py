# SPDX-License-Identifier: PostgreSQL
"""Changes one thing in a proved definition and checks that a proof stops. proofs/STEM/mutants.toml lists the changes.

Works on a copy of the compiled development (build/proofs, made by the audit) in build/proof-mutants. A mutant that Coq
still accepts is a failure, and so is one that stops another proof than recorded. That a proof stops does not show that
the theorem is false. A counterexample, computed from STEM/Instances.v, shows that. --accept records both.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import click

from proofs.audit.coq import CONTEXT
from proofs.audit.sources import GROUND, PREFIX, listed_sources
from tools.common import mutants, results
from tools.common.environment import first_line
from tools.common.progress import console

SOURCE, COMPILED, WORK = Path("proofs"), Path("build/proofs"), Path("build/proof-mutants")
INSTANCES = "Instances"
REFUTE = [
    *CONTEXT,
    "Eval vm_compute in match find {0}.fails {0}.instances with Some i => Some ({0}.claim i) | None => None end.",
]
MARKS = re.compile(r"(<!-- mutants[^>]*-->\n).*?(<!-- /mutants -->)", re.S)


class Mutant(mutants.Mutant):
    """A change to a definition, and what it does to the theorems."""

    refuted_by: str = ""
    """The theorem that is false of the changed definition, by a computed counterexample; "" if none was found."""

    @property
    def stem(self) -> str:
        return self.file.split("/")[0]


def enclosing_statement(text: str, line: int) -> str:
    """The name of the definition or theorem around a line (from 1)."""
    pattern = re.compile(r"\s*(?:#\[\w+\]\s*)?(?:Theorem|Lemma|Example|Definition|Fixpoint)\s+(\w+)")
    for candidate in reversed(text.splitlines()[:line]):
        if found := pattern.match(candidate):
            return found.group(1)
    return "?"


def coqc(file: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = ["coqc", "-q", "-noglob", "-w", "none", "-Q", ".", PREFIX, *flags, file]
    return subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)


def refute_lines(stem: str) -> str:
    """What asks Coq for an instance that fails."""
    lines = [f"From Coq Require Import String.\nFrom {PREFIX}.{stem} Require {INSTANCES}.", *REFUTE]
    return "\n".join(lines).replace("{0}", INSTANCES) + "\n"


def refutation(stem: str) -> str:
    """The claim of an instance that is computed to be false now; "" if there is none. Instances.v is compiled."""
    (WORK / "Refute.v").write_text(refute_lines(stem))
    found = re.search(r'Some "(\w+)"', coqc("Refute.v", "-vok").stdout)
    return found.group(1) if found else ""


def prepare(mutant: Mutant) -> list[str]:
    """A fresh copy of the compiled development with the change made; the files to compile, in order."""
    changed = mutant.source(SOURCE)
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in dict.fromkeys((*GROUND, mutant.stem)):
        shutil.copytree(COMPILED / folder, WORK / folder)
    (WORK / mutant.file).write_text(changed)
    files = [file for file in listed_sources(SOURCE) if file.startswith(mutant.stem + "/")]
    return files[files.index(mutant.file) :]


def stops_at(file: str, *flags: str) -> str:
    """Where Coq rejects a file, as "File.v: name"; "" if it accepts the file."""
    run = coqc(file, *flags)
    if not run.returncode:
        return ""
    found = re.search(r'File "[^"]*", line (\d+)', run.stderr)
    where = enclosing_statement((WORK / file).read_text(), int(found.group(1))) if found else run.stderr
    return f"{Path(file).name}: {where}"


def first_stop(files: Sequence[str], *flags: str) -> str:
    return next((where for file in files if (where := stops_at(file, *flags))), "")


def try_mutant(mutant: Mutant) -> tuple[str, str]:
    """Where a proof breaks, as "File.v: name", or ""; and the theorem that is refuted, or "".

    The recorded proof is tried first, on definitions and statements alone (-vos) of the files before it, which takes
    seconds. Only if it does not stop there are all proofs tried in order.
    """
    files = prepare(mutant)
    instances, refuted_by = f"{mutant.stem}/{INSTANCES}.v", ""
    recorded = f"{mutant.stem}/{mutant.killed_by.split(':')[0]}"
    if instances in files and not first_stop(files[: files.index(instances) + 1], "-vos"):
        refuted_by = refutation(mutant.stem)
    reached = recorded in files and not first_stop(files[: files.index(recorded)], "-vos")
    if reached and stops_at(recorded, "-vok") == mutant.killed_by:
        return mutant.killed_by, refuted_by
    return first_stop(prepare(mutant)), refuted_by


def record(path: Path, mutant: Mutant, killed_by: str, refuted_by: str) -> None:
    """Write what was found to the mutant's table."""
    entry = re.compile(
        r'(name = "' + re.escape(mutant.name) + r'".*?)killed_by = "[^"]*"(?:\nrefuted_by = "[^"]*")?', re.S
    )
    found = f'killed_by = "{killed_by}"' + (f'\nrefuted_by = "{refuted_by}"' if refuted_by else "")
    path.write_text(entry.sub(lambda m: m.group(1) + found, path.read_text(), count=1))


def listings(stem: str = "") -> list[Path]:
    return sorted(SOURCE.glob(f"{stem or '*'}/mutants.toml"))


def table() -> str:
    """All mutants for README.md."""
    lines = ["| change | in | from | to | proof that stops | theorem that is false |", "|---|---|---|---|---|---|"]
    for m in [m for listing in listings() for m in mutants.load(listing, Mutant)]:
        old, new = m.old.replace("|", "\\|"), m.new.replace("|", "\\|")
        refuted = f"`{m.refuted_by}`" if m.refuted_by else "not shown"
        lines.append(f"| {m.name} | `{m.file}` | `{old}` | `{new}` | `{m.killed_by}` | {refuted} |")
    return "\n".join(lines) + "\n"


def run(listing: Path, accept: bool, at_most: int | None = None) -> Sequence[dict[str, object]]:
    """Try each mutant of a file, or the first ones. The items of its result."""
    items: list[dict[str, object]] = []
    for mutant in mutants.load(listing, Mutant)[:at_most]:
        started = time.monotonic()
        killed_by, refuted_by = try_mutant(mutant)
        if accept and killed_by:
            record(listing, mutant, killed_by, refuted_by)
        # A counterexample that is not recorded yet is good news; one that is recorded must be found again.
        as_recorded = killed_by == mutant.killed_by and mutant.refuted_by in ("", refuted_by)
        ok = bool(killed_by) and (accept or as_recorded)
        says = f"stops {killed_by}" if killed_by else "SURVIVES"
        says += f", refutes {refuted_by}" if refuted_by else ", no counterexample"
        reason = "" if ok else f"{says}; recorded are {mutant.killed_by or 'nothing'}, {mutant.refuted_by or 'nothing'}"
        seconds = time.monotonic() - started
        console().print(f"  {mutant.name}: {reason or says} ({seconds:.0f} s)", markup=False)
        item: dict[str, object] = {"name": mutant.name, "status": "passed" if ok else "failed", "reason": reason}
        items.append(item | {"seconds": seconds, "killed_by": killed_by, "refuted_by": refuted_by})
    return items


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--accept", is_flag=True, help="Record what each mutant breaks and refutes.")
def main(stem: str, accept: bool) -> None:
    failed = 0
    for listing in listings(stem):
        items = run(listing, accept)
        good = sum(item["status"] == "passed" for item in items)
        refuted = sum(bool(item["refuted_by"]) for item in items)
        says = f"{good}/{len(items)} stop the proof that they should, {refuted} refute a theorem"
        tools = {"Coq": first_line("coqc", "--print-version").split(" ")[0]}
        results.write("proof-mutants", listing.parent.name, items, says=says, tools=tools)
        console().print(f"proof mutants, {listing.parent.name}: {says}")
        failed += len(items) - good
    readme = SOURCE / "README.md"
    if accept:
        readme.write_text(MARKS.sub(lambda m: m.group(1) + table() + m.group(2), readme.read_text()))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
