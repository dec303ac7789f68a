# SPDX-License-Identifier: PostgreSQL
"""Tries a change of a definition: is it one, does a proof stop?

The stem's sources that depend on the changed one are compiled anew, beside links to the compiled ones that do not:
definitions and statements alone (-vos), and proofs (-vok) file by file, those first that name what is changed. The
first proof that stops is enough.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from proofs.audit import coq
from proofs.audit.sources import GROUND, PREFIX, WITNESS, Audit, listed_sources, required
from proofs.changes import rules
from proofs.changes.rules import Change
from proofs.changes.source import INDUCTIVE, blanked, definitions

# refused: it does not type-check, or what is defined by it does not. equivalent: the kernel takes both for the same
# term. killed: a proof stops. survived: the whole stem is proved.
Verdict = Literal["refused", "equivalent", "killed", "survived"]

CPU, MEMORY = 300, 10 * 2**30
"""What Coq may take for one file: CPU seconds, ten times what the longest takes, and bytes that it can write to. Not of
address space: OCaml 5, by which Coq 8.20 is built, reserves 32 GB of it."""
SAME_CPU = 30
"""CPU seconds to find two terms the same."""
IMPORT = re.compile(rf"From {PREFIX}\.(\w+) Require (?:Import |Export )?([^.]*)\.")
SENTENCE = re.compile(
    r"[ \t]*(?:#\[[^\]]*\]\s*)?(?:Local |Global )?"
    r"(Theorem|Lemma|Corollary|Example|Definition|Fixpoint|Inductive|Record|Instance|Ltac2?|Notation)\s+([\w']+)"
)
PROVED = ("Theorem", "Lemma", "Corollary", "Example")


@dataclass
class Tried:
    """A change, and what showed it."""

    change: Change
    verdict: Verdict = "survived"
    by: str = ""
    """The lemma or theorem whose proof stops, as "File.v: name"; or where it does not type-check."""
    seconds: float = 0.0


@dataclass
class Row:
    """The sources of a stem, and what can be changed in them."""

    stem: str
    files: list[str] = field(default_factory=list)
    """In an order in which they can be compiled; what shows that premises can be met comes last."""
    imports: dict[str, set[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    """All changes, in the order in which they are chosen."""

    def dependents(self, file: str) -> list[str]:
        """The file, and those that import it, or import one that does."""
        found = {file}
        for other in self.files:
            if self.imports[other] & found:
                found.add(other)
        return [other for other in self.files if other in found]

    def needs(self, file: str) -> set[str]:
        """The file, and all that it imports in the stem."""
        return {file}.union(*(self.needs(other) for other in self.imports[file]))


def load(stem: str, source: Path, compiled: Path) -> Row:
    """The stem, and all changes of the definitions that its required theorems reach, but for those of its witnesses."""
    witness = f"{stem}/{WITNESS}.v"
    files = [file for file in listed_sources(source) if file.startswith(f"{stem}/")]
    row = Row(stem, [*(f for f in files if f != witness), *(f for f in files if f == witness)])
    row.texts = {file: (source / file).read_text() for file in files}
    by_name = {Path(file).stem: file for file in files}
    for file, text in row.texts.items():
        found = [(m[1], name) for m in IMPORT.finditer(blanked(text)) for name in m[2].split()]
        row.imports[file] = {by_name[name] for folder, name in found if folder == stem}
    theorems = [t for t in required(source) if t.folder == stem and t.file != witness]
    audit = Audit()
    reached = set(coq.terms(compiled, theorems, audit, name=f"reach_{stem}"))
    if audit.problems:
        raise RuntimeError("\n".join(text for _, text in audit.problems))
    fields = {name: of for text in row.texts.values() for name, of in rules.fields_of(blanked(text)).items()}
    for file, text in row.texts.items():
        module = f"{PREFIX}.{file.removesuffix('.v').replace('/', '.')}"
        claimed = [d.name for d in definitions(blanked(text)) if f"{module}.{d.name}" in reached]
        row.changes += rules.find(file, text, claimed, fields)
    row.changes.sort(key=lambda change: change.checksum)
    return row


class Copy:
    """A folder with a change made, in which Coq can run."""

    def __init__(self, row: Row, change: Change, compiled: Path, work: Path) -> None:
        self.row, self.change = row, change
        self.folder = (work / row.stem / change.checksum).resolve()
        self.text = change.applied(row.texts[change.file])
        self.changed = row.dependents(change.file)
        self.stated: dict[str, str] = {}
        """Files that were compiled without their proofs, and where Coq stopped in them."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (*GROUND, row.stem):
            for path in (compiled / folder).rglob("*.vo"):
                inside = path.relative_to(compiled)
                (self.folder / inside).parent.mkdir(parents=True, exist_ok=True)
                if str(inside.with_suffix(".v")) not in self.changed:
                    (self.folder / inside).symlink_to(path.resolve())
        for file in self.changed:
            (self.folder / file).write_text(self.text if file == change.file else row.texts[file])

    def coqc(self, file: str, *flags: str, cpu: int = CPU) -> subprocess.CompletedProcess[str]:
        limits = ["prlimit", f"--cpu={cpu}", f"--data={MEMORY}"]
        command = [*limits, "coqc", "-q", "-noglob", "-w", "none", "-Q", ".", PREFIX, *flags, file]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def stops(self, file: str, *flags: str) -> tuple[str, bool]:
        """Where Coq stops in a file, as "File.v: name", and whether in a proof; "" if it does not stop."""
        run = self.coqc(file, *flags)
        if not run.returncode:
            return "", False
        found = re.search(r'File "[^"]*", line (\d+)', run.stderr)
        if not found:
            return f"{Path(file).name}: {run.stderr.strip()[-200:] or 'takes too much CPU time'}", True
        name, proves = self.enclosing(file, int(found.group(1)))
        return f"{Path(file).name}: {name}", proves

    def enclosing(self, file: str, line: int) -> tuple[str, bool]:
        """What stands around a line (from 1): its name, and whether the line is of its proof."""
        begins_proof = False
        for said in reversed((self.folder / file).read_text().splitlines()[:line]):
            begins_proof = begins_proof or "Proof" in said
            if found := SENTENCE.match(said):
                return found.group(2), begins_proof and found.group(1) in PROVED
        return "?", False

    def is_term(self) -> Verdict | None:
        """Whether the definition alone is refused, or the kernel takes it for the original one; None if neither."""
        code, change = blanked(self.row.texts[self.change.file]), self.change
        definition = next(d for d in definitions(code) if d.begin <= change.edits[0][0] < d.end)
        end = definition.end + len(self.text) - len(code)
        sentence = blanked(self.text)[definition.begin : end]
        generative = INDUCTIVE.match(sentence)
        before = code[: definition.begin if generative else definition.end]
        other = f"changed_{definition.name}"
        if not generative:
            sentence = re.sub(rf"(?<![\w'.]){re.escape(definition.name)}(?![\w'])", other, sentence)
        asked = "" if generative else f"\nCheck (eq_refl : @{definition.name} = @{other}).\n"
        (self.folder / "Alone.v").write_text(f"{before}\n{sentence}\n{asked}")
        run = self.coqc("Alone.v", "-vos", cpu=SAME_CPU)
        if not run.returncode:
            return None if generative else "equivalent"
        found = re.search(r'File "[^"]*", line (\d+)', run.stderr)
        is_asked = found and int(found.group(1)) > f"{before}\n{sentence}".count("\n") + 1
        return None if is_asked or not found else "refused"

    def states(self, file: str) -> str:
        """Compile a file and what it needs without the proofs; where Coq stops, or ""."""
        needed = self.row.needs(file)
        for one in (one for one in self.changed if one in needed):
            if one not in self.stated:
                self.stated[one] = self.stops(one, "-vos")[0]
            if self.stated[one]:
                return self.stated[one]
        return ""


def attempt(row: Row, change: Change, compiled: Path, work: Path) -> Tried:
    """Make a change, and see what shows it."""
    started = time.monotonic()
    tried, copy = Tried(change), Copy(row, change, compiled, work)
    if verdict := copy.is_term():
        tried.verdict = verdict
    else:
        judge(tried, copy)
    shutil.rmtree(copy.folder, ignore_errors=True)
    tried.seconds = round(time.monotonic() - started, 1)
    return tried


def judge(tried: Tried, copy: Copy) -> None:
    """Check the proofs, to the first that stops."""
    name = re.compile(rf"(?<![\w'])(?:{re.escape(tried.change.definition)})(?![\w'])")
    last = f"{copy.row.stem}/{WITNESS}.v"
    for file in sorted(copy.changed, key=lambda file: (file == last, not name.search(copy.row.texts[file]))):
        if where := copy.states(file):
            tried.verdict, tried.by = "refused", where
            return
        where, proves = copy.stops(file, "-vok")
        if where:
            tried.verdict, tried.by = ("killed" if proves else "refused"), where
            return
