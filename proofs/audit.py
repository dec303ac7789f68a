# SPDX-License-Identifier: PostgreSQL
"""Build the Coq development outside the checkout and audit it.

The audit fails on: a .v that _CoqProject does not list (or a listed one that is not there), a source that admits or
assumes something, a required theorem that is missing or has no English sentence over it, a statement or a set of
assumptions that differs from the golden file, and anything coqchk holds against the compiled files.

Writes build/results/proof.json. Exit code 0 only if everything passed.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

PREFIX = "Pgquern"
# Vernacular that leaves something unproved or switches a check of the kernel off. Coq itself reports the rest (Variable
# outside a section, for one) through Print Assumptions and coqchk.
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Conjectures?|Parameters?|Abort|bypass_check"
    r"|Unset\s+(?:Guard|Positivity|Universe)\s+Checking|native_compute|Admit\s+Obligations)\b"
)
# Fields of a sealed module in Coq's own ssreflect library: implemented there, but coqchk lists what a signature hides.
SEALED_IN_COQ = "Coq.ssr.ssrunder.Under_rel."
TABLE = re.compile(r"(<!-- theorems[^>]*-->\n).*?(<!-- /theorems -->)", re.S)
STATEMENT = r"(?:#\[[^\]]*\]\s*)?(?:Theorem|Lemma|Corollary|Remark|Fact|Proposition|Example)\s+{name}\b"
CLOSED = "Closed under the global context"


@dataclass(frozen=True)
class Theorem:
    """One line of required-theorems.txt."""

    qualified: str

    @property
    def module(self) -> str:
        return self.qualified.rsplit(".", 1)[0]

    @property
    def name(self) -> str:
        return self.qualified.rsplit(".", 1)[1]

    @property
    def file(self) -> str:
        return self.module.removeprefix(PREFIX + ".").replace(".", "/") + ".v"

    @property
    def stem(self) -> str:
        return stem_of(self.file)


@dataclass
class Audit:
    """What was found; a problem is (stem, text), with stem "" for what belongs to the whole development."""

    problems: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    items: list[dict[str, object]] = field(default_factory=list)

    def problem(self, stem: str, text: str) -> None:
        self.problems.append((stem, text))


def stem_of(file: str) -> str:
    """The stem of a source: its folder; the file itself in common/; what is extracted in oracle/Extract<Stem>.v."""
    folder, _, base = file.rpartition("/")
    if folder == "common":
        return base.removesuffix(".v").lower()
    if folder == "oracle":
        return base.removesuffix(".v").removeprefix("Extract").lower()
    return folder


def strip_comments(text: str) -> str:
    """The source without its (nested) comments and without the contents of strings."""
    out: list[str] = []
    depth = 0
    i = 0
    while i < len(text):
        two = text[i : i + 2]
        if two == "(*":
            depth += 1
            i += 2
        elif two == "*)" and depth:
            depth -= 1
            i += 2
        elif text[i] == '"':
            end = text.find('"', i + 1)
            i = len(text) if end < 0 else end + 1
        else:
            if not depth or text[i] == "\n":
                out.append(text[i])
            i += 1
    return "".join(out)


def listed_sources(source: Path) -> list[str]:
    lines = (source / "_CoqProject").read_text().splitlines()
    return [line.strip() for line in lines if line.strip().endswith(".v")]


def required(source: Path) -> list[Theorem]:
    lines = (source / "required-theorems.txt").read_text().splitlines()
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [Theorem(name) for name in names]


def sentence_of(theorem: Theorem, text: str) -> str | None:
    """The (** comment *) that stands directly over the theorem, on one line; None if there is none."""
    pattern = r"\(\*\*((?:(?!\*\)).)*)\*\)\s*" + STATEMENT.format(name=re.escape(theorem.name))
    found = re.search(pattern, text, re.S)
    return " ".join(found.group(1).split()) if found else None


def check_sources(source: Path, audit: Audit) -> None:
    listed = listed_sources(source)
    present = sorted(str(path.relative_to(source)) for path in source.rglob("*.v"))
    for file in sorted(set(present) - set(listed)):
        audit.problem(stem_of(file), f"{file} is not in _CoqProject: list it or remove it")
    for file in sorted(set(listed) - set(present)):
        audit.problem(stem_of(file), f"{file} is in _CoqProject but does not exist")
    for file in present:
        code = strip_comments((source / file).read_text())
        for number, line in enumerate(code.splitlines(), 1):
            for word in FORBIDDEN.findall(line):
                audit.problem(stem_of(file), f"{file}:{number}: {word}: prove it, or leave it out")


def check_statements(source: Path, theorems: Sequence[Theorem], audit: Audit) -> dict[Theorem, str]:
    """The English sentence of each required theorem that is there."""
    sentences: dict[Theorem, str] = {}
    for theorem in theorems:
        path = source / theorem.file
        text = path.read_text() if path.exists() else ""
        if not re.search(STATEMENT.format(name=re.escape(theorem.name)), strip_comments(text)):
            audit.problem(theorem.stem, f"{theorem.file}: required theorem {theorem.name} is missing")
        elif (sentence := sentence_of(theorem, text)) is None:
            audit.problem(theorem.stem, f"{theorem.file}: {theorem.name} has no (** sentence *) directly over it")
        else:
            sentences[theorem] = sentence
    return sentences


def theorem_table(sentences: dict[Theorem, str]) -> str:
    lines = ["| theorem | says | file |", "|---|---|---|"]
    for theorem, sentence in sentences.items():
        says = sentence.replace("|", "\\|")
        lines.append(f"| `{theorem.name}` | {says} | `{theorem.file}` |")
    return "\n".join(lines) + "\n"


def check_readme(source: Path, sentences: dict[Theorem, str], accept: bool, audit: Audit) -> None:
    """That README.md lists every theorem with its sentence; its table stands between two marks."""
    readme = source / "README.md"
    text = readme.read_text() if readme.exists() else ""
    if not TABLE.search(text):
        audit.problem(
            "", "README.md has no table of theorems: give it the marks <!-- theorems --> and <!-- /theorems -->"
        )
        return
    wanted = TABLE.sub(lambda m: m.group(1) + theorem_table(sentences) + m.group(2), text)
    if accept:
        readme.write_text(wanted)
    elif text != wanted:
        audit.problem("", "README.md's table of theorems is not what the sources say: `make prove-accept` writes it")


def copy_sources(source: Path, build: Path, files: Sequence[str]) -> None:
    """Bring the build folder up to date; an unchanged source keeps its time, so that make does not rebuild it."""
    build.mkdir(parents=True, exist_ok=True)
    for stale in [p for p in build.rglob("*.v") if str(p.relative_to(build)) not in files]:
        for product in stale.parent.glob(stale.stem + ".*"):
            product.unlink()
    for file in [*files, "_CoqProject"]:
        target = build / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (source / file).read_bytes():
            shutil.copyfile(source / file, target)


def compile_sources(build: Path, files: Sequence[str], jobs: int, audit: Audit, console: Console) -> bool:
    """Run coq_makefile's makefile for the files (and what they import); per-stem seconds are kept across runs."""
    subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "CoqMakefile"], cwd=build, check=True)
    command = ["make", "-f", "CoqMakefile", f"-j{jobs}", "--no-print-directory", "TIMED=1", *[f + "o" for f in files]]
    times_file = build / "times.json"
    times: dict[str, float] = json.loads(times_file.read_text()) if times_file.exists() else {}
    tail: list[str] = []
    with subprocess.Popen(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            timed = re.match(r"(\S+)\.vo \(real: ([\d.]+)", line)
            if timed:
                times[timed.group(1) + ".v"] = float(timed.group(2))
                console.print(f"  proved {timed.group(1)}.v in {timed.group(2)} s", highlight=False)
            else:
                tail.append(line.rstrip())
    times_file.write_text(json.dumps(times, indent=1, sort_keys=True))
    for file in files:
        audit.seconds[stem_of(file)] = audit.seconds.get(stem_of(file), 0.0) + times.get(file, 0.0)
    if process.returncode:
        failed = [line for line in tail if line.startswith("File ")]
        where = re.search(r'File "\./?([^"]+)"', failed[0]) if failed else None
        text = "\n".join([line for line in tail if not line.startswith(("COQ", "make"))][-40:])
        audit.problem(stem_of(where.group(1)) if where else "", "Coq rejects the development:\n" + text)
    return process.returncode == 0


def print_assumptions(build: Path, theorems: Sequence[Theorem]) -> dict[Theorem, str]:
    """For each theorem what Coq says of it: its statement, then its assumptions.

    One file a stem, which loads just that stem's modules: how short Coq prints a name depends on what else is loaded.
    """
    said: dict[Theorem, str] = {}
    folder = build / "audit"
    folder.mkdir(exist_ok=True)
    for stem in dict.fromkeys(t.stem for t in theorems):
        mine = [t for t in theorems if t.stem == stem]
        lines = ["From Coq Require Import ZArith List.", "Set Printing Width 120.", "Open Scope Z_scope."]
        for package, module in dict.fromkeys(tuple(t.module.rsplit(".", 1)) for t in mine):
            lines.append(f"From {package} Require {module}.")
        for theorem in mine:
            lines.append(f'Goal True. idtac "== {theorem.qualified}". exact I. Qed.')
            lines.append(f"Check {theorem.qualified}.\nPrint Assumptions {theorem.qualified}.")
        (folder / f"{stem}.v").write_text("\n".join(lines) + "\n")
        command = ["coqc", "-Q", "..", PREFIX, f"{stem}.v"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        blocks = parse_golden(run.stdout)
        for theorem in mine:
            said[theorem] = blocks.get(theorem.qualified) or f"not there: {run.stderr.strip()}"
    return said


def parse_golden(text: str) -> dict[str, str]:
    blocks: dict[str, str] = {}
    for block in re.split(r"^== ", text, flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        blocks[name.strip()] = body.strip()
    return blocks


def assumptions_of(said: str) -> str:
    """The assumptions part of what Coq said: the closed line, or all from "Axioms:" on."""
    return CLOSED if said.endswith(CLOSED) else said[max(said.rfind("Axioms:"), 0) :]


def check_golden(source: Path, said: dict[Theorem, str], stem: str, accept: bool, audit: Audit) -> None:
    golden = source / "Assumptions.expected"
    expected = parse_golden(golden.read_text()) if golden.exists() else {}
    if accept:
        new = {t.qualified: said[t] if t in said else expected.get(t.qualified, "") for t in required(source)}
        golden.write_text("\n".join(f"== {name}\n{body}\n" for name, body in new.items()))
        expected = new
    for theorem, text in said.items():
        if not text.endswith(CLOSED):
            audit.problem(theorem.stem, f"{theorem.qualified} rests on assumptions:\n{assumptions_of(text)}")
        if expected.get(theorem.qualified) != text:
            audit.problem(
                theorem.stem,
                f"{theorem.qualified}: statement or assumptions differ from Assumptions.expected. Coq says:\n{text}\n"
                "Review the change; `make prove-accept` then takes it over.",
            )
    if not stem:
        for name in sorted(set(expected) - {t.qualified for t in required(source)}):
            audit.problem("", f"Assumptions.expected lists {name}, which required-theorems.txt does not")


def check_compiled(build: Path, files: Sequence[str], audit: Audit) -> None:
    """coqchk on every compiled file of ours (what they import from Coq's library is taken as Debian built it)."""
    modules = [f"{PREFIX}.{file.removesuffix('.v').replace('/', '.')}" for file in files]
    flags = [flag for module in modules for flag in ("-norec", module)]
    command = ["coqchk", "-silent", "-o", "-Q", ".", PREFIX, *flags]
    run = subprocess.run(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    # The summary must be there: its absence would read as "nothing assumed".
    if run.returncode or "* Axioms:" not in run.stdout:
        audit.problem("", f"coqchk rejects the compiled files:\n{run.stdout}")
        return
    for title, body in re.findall(r"^\* ([^:\n]+):(.*?)(?=^\* |\Z)", run.stdout, re.S | re.M):
        entries = [line.strip() for line in body.splitlines() if line.strip()]
        unexpected = [e for e in entries if e != "<none>" and not e.startswith(SEALED_IN_COQ)]
        if title != "Theory" and unexpected:
            audit.problem("", f"coqchk: {title}: {', '.join(unexpected)}")


def first_line(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.stdout.strip().splitlines()[0] if run.returncode == 0 and run.stdout.strip() else "unknown"


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    return found.group(1) if found else platform.processor()


def write_results(path: Path, audit: Audit, seconds: float) -> None:
    stems: dict[str, dict[str, object]] = {}
    for stem in sorted({str(item["stem"]) for item in audit.items} | set(audit.seconds)):
        mine = [item for item in audit.items if item["stem"] == stem]
        passed = sum(item["status"] == "passed" for item in mine)
        stems[stem] = {
            "seconds": round(audit.seconds.get(stem, 0.0), 1),
            "passed": passed,
            "failed": len(mine) - passed,
            "skipped": 0,
            "says": f"{passed}/{len(mine)} required theorems, no axioms" if passed == len(mine) else "the audit failed",
        }
    result = {
        "layer": "proof",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "tools": {"Coq": first_line("coqc", "--print-version").split()[0]},
        "commit": first_line("git", "rev-parse", "--short", "HEAD"),
        "cpu": cpu_name(),
        "stems": stems,
        "items": audit.items,
        "problems": [text for _, text in audit.problems],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def run(source: Path, build: Path, results: Path, *, stem: str, jobs: int, accept: bool, console: Console) -> bool:
    """Build and audit; True if nothing is wrong. stem narrows to one stem (and what its files import)."""
    started = time.monotonic()
    audit = Audit()
    everything = required(source)
    theorems = [t for t in everything if not stem or t.stem == stem]
    files = [f for f in listed_sources(source) if (source / f).exists()]
    mine = [f for f in files if not stem or stem_of(f) == stem]
    console.print(f"proofs: {len(mine)} files, {len(theorems)} required theorems", highlight=False)
    check_sources(source, audit)
    every_sentence = check_statements(source, everything, audit)
    check_readme(source, every_sentence, accept, audit)
    sentences = {theorem: every_sentence[theorem] for theorem in theorems if theorem in every_sentence}
    copy_sources(source, build, files)
    said: dict[Theorem, str] = {}
    if compile_sources(build, mine, jobs, audit, console):
        said = print_assumptions(build, list(sentences))
        check_golden(source, said, stem, accept, audit)
        check_compiled(build, mine, audit)
    if stem:
        audit.problems = [p for p in audit.problems if p[0] in ("", stem)]
    broken = {s for s, _ in audit.problems}
    for theorem in theorems:
        text = said.get(theorem, "")
        ok = text.endswith(CLOSED) and not broken & {"", theorem.stem}
        audit.items.append(
            {
                "stem": theorem.stem,
                "name": theorem.qualified,
                "status": "passed" if ok else "failed",
                "file": f"proofs/{theorem.file}",
                "sentence": sentences.get(theorem, ""),
                "statement": text.removesuffix(assumptions_of(text)).strip(),
                "assumptions": assumptions_of(text) or "not checked",
            }
        )
    write_results(results, audit, time.monotonic() - started)
    for _, text in audit.problems:
        console.print(f"PROBLEM {text}", style="red", highlight=False, markup=False)
    passed = sum(item["status"] == "passed" for item in audit.items)
    console.print(
        f"proofs: {passed}/{len(audit.items)} required theorems proved, "
        f"{'no assumptions, coqchk agrees' if not audit.problems else f'{len(audit.problems)} problems'}; "
        f"{time.monotonic() - started:.0f} s",
        highlight=False,
    )
    return not audit.problems


def extract(source: Path, build: Path, stem: str, jobs: int, console: Console) -> int:
    """Write build/<stem>_proved.ml, by compiling oracle/Extract<Stem>.v and the definitions that it imports."""
    files = listed_sources(source)
    wanted = [f for f in files if f.startswith("oracle/Extract") and stem_of(f) == stem]
    if not wanted:
        console.print(f"proofs: no oracle/Extract<Stem>.v in _CoqProject is for {stem}", style="red")
        return 2
    copy_sources(source, build, files)
    audit = Audit()
    if not (build / f"{stem}_proved.ml").exists():
        (build / (wanted[0] + "o")).unlink(missing_ok=True)
    ok = compile_sources(build, wanted, jobs, audit, console)
    for _, text in audit.problems:
        console.print(text, style="red", highlight=False, markup=False)
    return 0 if ok else 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=Path("proofs"))
    parser.add_argument("--build", type=Path, default=Path("build/proofs"))
    parser.add_argument("--results", type=Path, default=Path("build/results/proof.json"))
    parser.add_argument("--stem", default="", help="only this stem")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--extract", default="", metavar="STEM", help="only compile what extracts this stem; no audit")
    parser.add_argument("--accept", action="store_true", help="take what Coq says over into Assumptions.expected")
    args = parser.parse_args(argv)
    console = Console(soft_wrap=True)
    if shutil.which("coq_makefile") is None:
        console.print("proofs: Coq is not installed; run `make setup`, then again", style="red")
        return 2
    if args.extract:
        return extract(args.source, args.build, args.extract, args.jobs, console)
    ok = run(args.source, args.build, args.results, stem=args.stem, jobs=args.jobs, accept=args.accept, console=console)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
