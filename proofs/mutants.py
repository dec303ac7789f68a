# SPDX-License-Identifier: PostgreSQL
"""Change one thing in a proved definition and see a proof break: each change of mutants.toml, which says where.

Works on copies of the compiled development (build/proofs, made by the audit) in build/proof-mutants. A mutant that Coq
still accepts is a failure, and so is one that breaks elsewhere than recorded; --accept records where it does.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

PREFIX = "Pgquern"


@dataclass(frozen=True)
class Mutant:
    """One change: old, which occurs exactly once in file, becomes new."""

    name: str
    file: str
    old: str
    new: str
    broken_by: str

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


def try_mutant(mutant: Mutant, source: Path, compiled: Path, work: Path) -> str:
    """Where the proof breaks, as "File.v: name"; "" if it doesn't."""
    text = (source / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"mutants.toml: {mutant.name}: 'old' occurs {text.count(mutant.old)} times in {mutant.file}")
    shutil.rmtree(work, ignore_errors=True)
    for folder in sorted({"common", mutant.stem}):
        shutil.copytree(compiled / folder, work / folder)
    (work / mutant.file).write_text(text.replace(mutant.old, mutant.new))
    listed = [line.strip() for line in (source / "_CoqProject").read_text().splitlines()]
    files = [line for line in listed if line.startswith(mutant.stem + "/")]
    for file in files[files.index(mutant.file) :]:
        command = ["coqc", "-q", "-noglob", "-w", "none", "-Q", ".", PREFIX, file]
        run = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if run.returncode:
            found = re.search(r'File "[^"]*", line (\d+)', run.stderr)
            where = enclosing_statement((work / file).read_text(), int(found.group(1))) if found else run.stderr
            return f"{Path(file).name}: {where}"
    return ""


def record(path: Path, mutant: Mutant, broken_by: str) -> None:
    entry = re.compile(r'(name = "' + re.escape(mutant.name) + r'".*?broken_by = ")[^"]*"', re.S)
    path.write_text(entry.sub(lambda m: f'{m.group(1)}{broken_by}"', path.read_text(), count=1))


def table(mutants: Sequence[Mutant]) -> str:
    lines = ["| change | in | from | to | breaks |", "|---|---|---|---|---|"]
    for m in mutants:
        old, new = m.old.replace("|", "\\|"), m.new.replace("|", "\\|")
        lines.append(f"| {m.name} | `{m.file}` | `{old}` | `{new}` | `{m.broken_by}` |")
    return "\n".join(lines) + "\n"


def load(listing: Path) -> list[Mutant]:
    return [Mutant(**entry) for entry in tomllib.loads(listing.read_text())["mutant"]]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stem", default="", help="only this stem")
    parser.add_argument("--accept", action="store_true", help="record where each one breaks")
    args = parser.parse_args(argv)
    console = Console(soft_wrap=True, highlight=False)
    source, compiled, work = Path("proofs"), Path("build/proofs"), Path("build/proof-mutants")
    listing = source / "mutants.toml"
    mutants = [mutant for mutant in load(listing) if args.stem in ("", mutant.stem)]
    survivors = 0
    for mutant in mutants:
        started = time.monotonic()
        broken_by = try_mutant(mutant, source, compiled, work)
        if args.accept and broken_by:
            record(listing, mutant, broken_by)
        elif broken_by != mutant.broken_by:
            survivors += 1
        says = f"breaks {broken_by}" if broken_by else "SURVIVES"
        console.print(f"  {mutant.name}: {says} ({time.monotonic() - started:.0f} s)", markup=False)
        if not args.accept and broken_by and broken_by != mutant.broken_by:
            console.print(f"    but mutants.toml says {mutant.broken_by or 'nothing'}", markup=False)
    if args.accept:
        readme = source / "README.md"
        marks = re.compile(r"(<!-- mutants[^>]*-->\n).*?(<!-- /mutants -->)", re.S)
        readme.write_text(marks.sub(lambda m: m.group(1) + table(load(listing)) + m.group(2), readme.read_text()))
    console.print(f"proof mutants: {len(mutants) - survivors}/{len(mutants)} break the proof that they should")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
