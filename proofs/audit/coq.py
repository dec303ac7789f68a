# SPDX-License-Identifier: PostgreSQL
"""Coq's own tools on the copy of the development in the build folder: coqc, Print, coqchk."""

import hashlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from rich.console import Console

from proofs.audit.sources import PREFIX, WITNESS, Audit, Theorem, file_of, stem_of
from tools.common.environment import first_line

CLOSED = "Closed under the global context"
# Fields of sealed modules in Coq's own libraries: implemented there, but coqchk lists what a signature hides.
SEALED_IN_COQ = ("Coq.ssr.ssrunder.Under_rel.", "Coq.Arith.PeanoNat.Nat.PrivateImplementsBitwiseSpec.")
CONTEXT = ["From Coq Require Import ZArith List.", "Set Printing Width 120.", "Open Scope Z_scope."]
AUDIT = "audit"
"""The folder of the build for what the audit itself asks Coq, and for the answers."""
# For Reach.v: since 8.20 the return type of a case comes with its relevance.
MOTIVE = "From Ltac2 Require Import Ltac2. Ltac2 motive {}."
# What older libraries call the same things, and the names of today: a hash is for all versions.
RENAMED = {
    "Coq.Numbers.Natural.Peano.NPeano.Nat.": "Coq.Arith.PeanoNat.Nat.",
    "stdpp.zmap.Zempty ": "stdpp.zmap.Zmap_empty ",
    "stdpp.zmap.Zlookup ": "stdpp.zmap.Zmap_lookup ",
    "stdpp.zmap.Zpartial_alter ": "stdpp.zmap.Zmap_partial_alter ",
}
REACH = Path(__file__).with_name("Reach.v")
PREMISES, PARTS = (Path(__file__).parents[1] / "common" / name for name in ("Premises.v", "Parts.v"))
IMPORTED = f"From {PREFIX}.common Require Import Premises.\n"


def version() -> tuple[int, ...]:
    """Coq's, as (8, 16)."""
    return tuple(map(int, first_line("coqc", "--print-version").split(".")[:2]))


def copy_sources(source: Path, build: Path, files: Sequence[str]) -> None:
    """Bring the build folder up to date; an unchanged source keeps its time, so that make does not rebuild it."""
    build.mkdir(parents=True, exist_ok=True)
    present = [path for path in build.rglob("*.v") if path.parent != build / AUDIT]
    for stale in [path for path in present if str(path.relative_to(build)) not in files]:
        for product in stale.parent.glob(stale.stem + ".*"):
            product.unlink()
    for file in [*files, "_CoqProject"]:
        target = build / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != (source / file).read_bytes():
            shutil.copyfile(source / file, target)
    for file in files:
        if not is_of_its_source(build, file):
            (build / (file + "o")).unlink(missing_ok=True)


def is_of_its_source(build: Path, file: str) -> bool:
    """Whether the .vo beside this .v was compiled from its text, and before now: make looks at the clock alone.

    coqc writes the digest of the text into the .glob.
    """
    compiled, glob = build / (file + "o"), (build / file).with_suffix(".glob")
    if not (compiled.exists() and glob.exists()) or compiled.stat().st_mtime > time.time():
        return False
    text = (build / file).read_bytes()
    return glob.read_text().startswith(f"DIGEST {hashlib.md5(text, usedforsecurity=False).hexdigest()}\n")


def run_coq_make(
    build: Path, targets: Sequence[str], jobs: int, console: Console
) -> tuple[bool, dict[str, float], str]:
    """Run coq_makefile's makefile: whether it succeeded, the seconds of each compiled file, and its complaints."""
    subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "CoqMakefile"], cwd=build, check=True)
    command = ["make", "-f", "CoqMakefile", f"-j{jobs}", "--no-print-directory", "TIMED=1", *targets]
    times: dict[str, float] = {}
    said: list[str] = []
    with subprocess.Popen(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if timed := re.match(r"(\S+)\.vo \(real: ([\d.]+)", line):
                times[timed.group(1) + ".v"] = float(timed.group(2))
                console.print(f"  proved {timed.group(1)}.v in {timed.group(2)} s", highlight=False)
            else:
                said.append(line.rstrip())
    complaints = [line for line in said if not line.startswith(("COQ", "make"))]
    return process.returncode == 0, times, "\n".join(complaints[-40:])


def is_compiled(source: Path, build: Path, files: Sequence[str]) -> bool:
    """Whether all of the files, as they are now, are compiled. Nothing is compiled or copied."""
    if not (build / "CoqMakefile").exists():
        return False
    for file in [*files, "_CoqProject"]:
        if not (build / file).exists() or (build / file).read_bytes() != (source / file).read_bytes():
            return False
    if not all(is_of_its_source(build, file) for file in files):
        return False
    command = ["make", "-q", "-f", "CoqMakefile", *(file + "o" for file in files)]
    return subprocess.run(command, cwd=build, capture_output=True, check=False).returncode == 0


def compile_sources(build: Path, files: Sequence[str], jobs: int, audit: Audit, console: Console) -> bool:
    """Compile the files, and what they import, as far as they have changed. The seconds go to each file's stem."""
    ok, times, said = run_coq_make(build, [file + "o" for file in files], jobs, console)
    for file, seconds in times.items():
        audit.spent(stem_of(file), seconds)
    if not ok:
        where = re.search(r'^File "\./?([^"]+)"', said, re.M)
        audit.problem(stem_of(where.group(1)) if where else "", "Coq rejects the development:\n" + said)
    return ok


def digest_of(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def coqc(build: Path, name: str, lines: Iterable[str]) -> str:
    """What Coq prints for these lines, which see the whole development. Errors come after it.

    What Coq printed without an error for the same lines and the same compiled files is remembered.
    """
    folder = build / AUDIT
    folder.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    compiled = sorted(path for path in build.rglob("*.vo") if path.parent != folder)
    digest = digest_of([text.encode(), *(path.read_bytes() for path in compiled)])
    remembered = folder / f"{name}.json"
    if remembered.exists() and (before := json.loads(remembered.read_text()))["digest"] == digest:
        return str(before["said"])
    (folder / f"{name}.v").write_text(text)
    command = ["coqc", "-q", "-noglob", "-w", "none", "-Q", "..", PREFIX, f"{name}.v"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    if run.returncode == 0:
        remembered.write_text(json.dumps({"digest": digest, "said": said}) + "\n")
    return said


def modules(names: Iterable[str]) -> list[str]:
    """Lines that load the modules of these qualified names, without importing them."""
    return list(dict.fromkeys("From {} Require {}.".format(*name.rsplit(".", 2)[:2]) for name in names))


def mark(name: str) -> str:
    return f'Goal True. idtac "== {name}". exact I. Qed.'


def parse_blocks(text: str) -> dict[str, str]:
    """What follows each line "== name", by name."""
    blocks: dict[str, str] = {}
    for block in re.split(r"^== ", text, flags=re.M)[1:]:
        name, _, body = block.partition("\n")
        blocks[name.strip()] = body.strip()
    return blocks


def print_assumptions(build: Path, theorems: Sequence[Theorem], pool: Executor) -> dict[str, str]:
    """For each theorem what Coq says of it: its statement, then its assumptions.

    One run a folder, which loads that folder's modules only: how short Coq prints a name depends on what is loaded.
    """
    by_folder: dict[str, list[str]] = {}
    for theorem in theorems:
        by_folder.setdefault(theorem.folder, []).append(theorem.qualified)
    said: dict[str, str] = {}
    for found in pool.map(lambda folder: print_together(build, folder, by_folder[folder]), by_folder):
        said |= found
    return said


def print_together(build: Path, folder: str, names: Sequence[str]) -> dict[str, str]:
    """The assumptions of all at once: asked for each theorem, Coq would walk through the same proofs each time."""
    lines = [*CONTEXT, *modules(names), *(line for name in names for line in (mark(name), f"Check {name}."))]
    together = ", ".join(f"@{name}" for name in names)
    lines += [f"Definition together := ({together}).", mark("together"), "Print Assumptions together."]
    blocks = parse_blocks(text := coqc(build, f"assumptions_{folder}", lines))
    if blocks.get("together") == CLOSED:
        return {name: f"{blocks[name]}\n{CLOSED}" for name in names}
    return print_each(build, folder, names, text)


def print_each(build: Path, folder: str, names: Sequence[str], complaint: str) -> dict[str, str]:
    """Each theorem with its own assumptions, where some of the folder have any."""
    lines = [*CONTEXT, *modules(names)]
    for name in names:
        lines += [mark(name), f"Check {name}.", f"Print Assumptions {name}."]
    blocks = parse_blocks(coqc(build, f"each_{folder}", lines))
    return {name: blocks.get(name) or f"not there: {complaint[-2000:]}" for name in names}


def terms(
    build: Path, theorems: Sequence[Theorem], audit: Audit, name: str = "reach", others: Sequence[str] = ()
) -> dict[str, str]:
    """The kernel's term (Reach.v writes it) of each statement, and of each definition of ours that it reaches.

    name: under which the answer is remembered. others: definitions that count as if a statement spoke of them.
    """
    if not theorems:
        return {}
    names = [*(theorem.qualified for theorem in theorems), *others]
    spoken = [*(f"@{theorem.qualified}" for theorem in theorems), *(f"(eq_refl (x := {other}))" for other in others)]
    statements = "; ".join(f"constr:({term})" for term in spoken)
    motive = MOTIVE.format("p := let (r, _) := p in r" if version() >= (8, 20) else "r := r")
    text = coqc(build, name, [*modules(names), motive, REACH.read_text(), f"Ltac2 Eval reach [{statements}]."])
    if "- : unit = ()" not in text:
        audit.problem("", f"the walk over the statements failed:\n{text[-2000:]}")
        return {}
    for older, newer in RENAMED.items():
        text = text.replace(older, newer)
    stated = zip(names, re.findall(r"^states (.*)$", text, re.M), strict=True)
    return dict(stated) | dict(re.findall(r"^reaches (\S+) (.*)$", text, re.M))


def check_witnesses(
    build: Path, theorems: Sequence[Theorem], witnessed: Collection[Theorem], outer: Sequence[str], audit: Audit
) -> None:
    """That the premises of each theorem can be met together: its witness proves that, or there are none.

    What a witness must prove comes from the theorem's own type (Parts.v), and the kernel compares. A theorem of
    Witness.v speaks of values that are there, so it is asked for the premises before its conclusion alone (Premises.v);
    outer: how the names begin of others that are.
    """
    if not theorems:
        return
    names = [theorem.qualified for theorem in theorems]
    asked = PREMISES.read_text() + PARTS.read_text().replace(IMPORTED, "")
    lines = [asked, *CONTEXT, *modules([*names, *(theorem.witness for theorem in witnessed)])]
    for theorem in theorems:
        by = f"exact @{theorem.witness}" if theorem in witnessed else "always"
        alone = theorem.module.endswith(f".{WITNESS}") or theorem.qualified.startswith(tuple(outer))
        which = "premises_of" if alone else "inner_premises_of"
        met = f"let met := {which} @{theorem.qualified} in tryif (assert met by {by}) then idtac else idtac met"
        lines.append(f'Goal True. idtac "== {theorem.qualified}". {met}. idtac "asked". exact I. Qed.')
    blocks = parse_blocks(text := coqc(build, "witnesses", lines))
    for theorem in theorems:
        said = blocks.get(theorem.qualified, "")
        if not said.endswith("asked"):
            audit.problem(theorem.stem, f"{theorem.qualified}: its premises were not found:\n{text[-2000:]}")
        elif asks := said.removesuffix("asked").strip():
            audit.problem(theorem.stem, unwitnessed(theorem, asks, there=theorem in witnessed))


def unwitnessed(theorem: Theorem, asks: str, *, there: bool) -> str:
    fault = "does not show" if there else "is not there to show"
    return (
        f"{theorem.witness} {fault} that the premises of {theorem.qualified} can be met together:\n{asks}\n"
        f"Prove `Lemma {theorem.name}_witness : inner_premises_of {theorem.name}.` "
        f"in {file_of(theorem.witness_module)}."
    )


def complaints_of(said: str) -> list[str]:
    """The complaints of coqchk about the files that it checked, from its summary."""
    # The summary must be there: its absence would read as "nothing assumed".
    if "* Axioms:" not in said:
        return [f"coqchk rejects the compiled files:\n{said}"]
    found = []
    for title, body in re.findall(r"^\* ([^:\n]+):(.*?)(?=^\* |\Z)", said, re.S | re.M):
        entries = [line.strip() for line in body.splitlines() if line.strip()]
        usual = {"Set is predicative", "Rewrite rules are not allowed"} if title == "Theory" else {"<none>"}
        if unexpected := [e for e in entries if e not in usual and not e.startswith(SEALED_IN_COQ)]:
            found.append(f"coqchk: {title}: {', '.join(unexpected)}")
    return found


def check_compiled(build: Path, files: Sequence[str], audit: Audit, pool: Executor) -> None:
    """coqchk on every compiled file of ours (what they import from Coq's library is taken as Debian built it).

    A stem whose .vo files coqchk has accepted before, bit by bit the same, is not checked again.
    """
    remembered = build / "coqchk.json"
    accepted: dict[str, str] = json.loads(remembered.read_text()) if remembered.exists() else {}
    by_stem: dict[str, list[str]] = {}
    for file in files:
        by_stem.setdefault(stem_of(file), []).append(file)
    # A .vo holds the digests of those that it imports, so its own bytes stand for all that it rests on.
    digests = {stem: digest_of((build / (file + "o")).read_bytes() for file in mine) for stem, mine in by_stem.items()}
    # The largest first: one that started last would keep the others waiting.
    new = sorted(
        (stem for stem in by_stem if accepted.get(stem) != digests[stem]), key=lambda stem: -len(by_stem[stem])
    )
    for stem, (complaints, seconds) in zip(new, pool.map(lambda stem: coqchk(build, by_stem[stem]), new), strict=True):
        for complaint in complaints:
            audit.problem(stem, complaint)
        audit.spent(stem, seconds)
        if not complaints:
            accepted[stem] = digests[stem]
            remembered.write_text(json.dumps(accepted, indent=1, sort_keys=True) + "\n")


def coqchk(build: Path, files: Sequence[str]) -> tuple[list[str], float]:
    """What coqchk complains of in the compiled files, and its seconds."""
    started = time.monotonic()
    flags = [x for file in files for x in ("-norec", f"{PREFIX}.{file.removesuffix('.v').replace('/', '.')}")]
    command = ["coqchk", "-silent", "-o", "-bytecode-compiler", "yes", "-Q", ".", PREFIX, *flags]
    run = subprocess.run(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    complaints = complaints_of(run.stdout) or (["coqchk failed"] if run.returncode else [])
    return complaints, time.monotonic() - started
