# SPDX-License-Identifier: PostgreSQL
"""Build the Coq development outside the checkout and audit it.

The audit fails on: a .v that _CoqProject does not list (or a listed one that is not there), a source that admits or
assumes something, a required theorem that is missing or has no English sentence of its own over it, a subject without
witnesses, a theorem whose premises no witness meets, one that rests on an assumption, a sentence, a statement or a
definition behind it that is not what required-theorems.txt has a hash of, a function that the extracted programs have
from OCaml and that is on no list, C that is not what its program prints, and anything that coqchk finds wrong with the
compiled files.

Writes build/results/proof/STEM.json. Exit code 0 only if everything passed.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from rich.console import Console

from proofs.audit import coq, hashes, printed
from proofs.audit.sources import (
    Audit,
    Theorem,
    check_sources,
    check_statements,
    listed_sources,
    outer_only,
    realised,
    required,
    stem_of,
    witnessed,
)
from tools.common import results
from tools.common.environment import first_line
from tools.common.progress import console as tools_console


def audit_compiled(
    source: Path,
    build: Path,
    audit: Audit,
    sentences: Mapping[Theorem, str],
    files: Sequence[str],
    *,
    stem: str,
    jobs: int,
    accept: bool,
) -> dict[str, str]:
    """What Coq says of each theorem that has a sentence; the hashes compared, coqchk asked."""
    theorems = list(sentences)
    lists = [printed.list_of(file) for file in files if file.endswith(f"/{printed.GENERATED}")]
    with ThreadPoolExecutor(jobs) as pool:
        said = coq.print_assumptions(build, theorems, pool)
        hashes.check_closed(said, audit)
        walk = pool.submit(coq.terms, build, theorems, audit, others=lists)
        shown = witnessed(source, theorems), outer_only(source)
        premises = pool.submit(coq.check_witnesses, build, theorems, *shown, audit)
        coq.check_compiled(build, files, audit, pool)
        premises.result()
        terms = walk.result()
    printed.check_programs(terms, theorems, lists, audit)
    by_file = {file: terms.get(printed.list_of(file), "") for file in files if file.endswith(f"/{printed.GENERATED}")}
    by_file |= realised(source, stem)
    names = [*(theorem.qualified for theorem in theorems), *by_file] if terms else []
    says = {theorem.qualified: sentence for theorem, sentence in sentences.items()}
    found = hashes.computed(terms | by_file, names, says)
    hashes.check(source, found, audit, stem=stem, accept=accept)
    printed.check_printed(source.parent, build, files, audit, accept=False)
    return said


def item(theorem: Theorem, said: str, sentence: str, reasons: Sequence[str]) -> dict[str, object]:
    """A theorem's line in the results."""
    ok = said.endswith(coq.CLOSED) and not reasons
    return {
        "name": theorem.qualified,
        "status": "passed" if ok else "failed",
        "reason": "" if ok else "; ".join(reason.splitlines()[0] for reason in reasons) or "not checked",
        "file": f"proofs/{theorem.file}",
        "sentence": sentence,
        "statement": said.removesuffix(hashes.assumptions_of(said)).strip(),
        "assumptions": hashes.assumptions_of(said) or "not checked",
    }


def write_results(
    folder: Path, audit: Audit, theorems: Sequence[Theorem], said: Mapping[str, str], sentences: Mapping[Theorem, str]
) -> int:
    """Write one result for each stem. Returns how many theorems passed."""
    passed = 0
    for stem in dict.fromkeys(t.stem for t in theorems):
        reasons = [text for where, text in audit.problems if where in ("", stem)]
        mine = [t for t in theorems if t.stem == stem]
        items = [item(t, said.get(t.qualified, ""), sentences.get(t, ""), reasons) for t in mine]
        count = sum(entry["status"] == "passed" for entry in items)
        says = f"{count}/{len(mine)} required theorems, no axioms" if count == len(mine) else "the audit failed"
        tools = {"Coq": first_line("coqc", "--print-version").split(" ")[0]}
        seconds = audit.seconds.get(stem, 0.0)
        results.write("proof", stem, items, says=says, tools=tools, seconds=seconds, folder=folder)
        passed += count
    return passed


def run(source: Path, build: Path, folder: Path, *, stem: str, jobs: int, accept: bool, console: Console) -> bool:
    """Build and audit; True if nothing is wrong. stem narrows to one stem (and what its files import)."""
    started = time.monotonic()
    audit = Audit()
    everything = required(source)
    theorems = [t for t in everything if stem in ("", t.stem)]
    files = [f for f in listed_sources(source) if (source / f).exists()]
    mine = [f for f in files if stem in ("", stem_of(f))]
    console.print(f"proofs: {len(mine)} files, {len(theorems)} required theorems", highlight=False)
    check_sources(source, audit)
    sentences = check_statements(source, everything, audit)
    coq.copy_sources(source, build, files)
    said: dict[str, str] = {}
    if coq.compile_sources(build, mine, jobs, audit, console):
        found = {theorem: sentences[theorem] for theorem in theorems if theorem in sentences}
        said = audit_compiled(source, build, audit, found, mine, stem=stem, jobs=jobs, accept=accept)
    if stem:
        audit.problems = [p for p in audit.problems if p[0] in ("", stem)]
    passed = write_results(folder, audit, theorems, said, sentences)
    for _, text in audit.problems:
        console.print(f"PROBLEM {text}", style="red", highlight=False, markup=False)
    if not stem:
        functions = sum(text.count("Extract ") for text in realised(source, "").values())
        console.print(f"proofs: OCaml realises {functions} functions of the extracted programs", highlight=False)
    console.print(
        f"proofs: {passed}/{len(theorems)} required theorems proved, "
        f"{'no assumptions, coqchk agrees' if not audit.problems else f'{len(audit.problems)} problems'}; "
        f"{time.monotonic() - started:.0f} s",
        highlight=False,
    )
    return not audit.problems


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--jobs", default=2, help="How many files Coq compiles at once.")
@click.option("--list", "only_list", is_flag=True, help="Print each required theorem with its sentence; check nothing.")
@click.option("--accept", is_flag=True, help="Write the hashes to required-theorems.txt, after review.")
def main(stem: str, jobs: int, only_list: bool, accept: bool) -> None:
    console = tools_console()
    if only_list:
        theorems = [theorem for theorem in required(Path("proofs")) if stem in ("", theorem.stem)]
        for theorem, sentence in check_statements(Path("proofs"), theorems, Audit()).items():
            click.echo(f"{theorem.file}: {theorem.name}\n    {sentence}")
        return
    if shutil.which("coq_makefile") is None:
        raise click.ClickException("Coq is not installed; run `make setup`, then again")
    build = Path("build/proofs")
    ok = run(Path("proofs"), build, results.RESULTS, stem=stem, jobs=jobs, accept=accept, console=console)
    raise SystemExit(0 if ok else 1)


if __name__ == "__main__":
    main()
