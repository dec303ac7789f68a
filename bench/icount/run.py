# SPDX-License-Identifier: PostgreSQL
"""Instruction counts of a stem's kernels, compared with recorded ones, and how they grow with a size (growth.py).

    python -m bench.icount.run STEM... [--accept]

They do not depend on the load of the machine, so they show that a kernel has become 5 % worse. callgrind counts; a
kernel that valgrind does not know is single-stepped (step.c). Both count some variants: if they differ there, libc has
chosen other code in one of them, and the stepped variants are skipped. The count includes libc's part (memcpy,
memmove); GLIBC_TUNABLES keeps its choice of code the same on every CPU with AVX2.

bench/STEM/icount.toml lists variants and shapes, and series of sizes; bench/STEM/icount.json the recorded counts, by
what they depend on: the versions of gcc and of glibc, and libc's code for AVX2 or without. Where none are recorded for
the tools here, the comparison is reported as skipped.
After a change that is worth its instructions, `make icount ACCEPT=1` records the new counts of what this CPU
can run: commit the file and say in the message why.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict
from rich.markup import escape
from rich.table import Table

from bench.icount import growth
from bench.icount.growth import Series
from tools.common import environment, progress, results

CALLS = 4  # as in step.c
LACKING = 2  # what step.c exits with if this CPU lacks a variant
TOLERANCE = 0.05
AGREEMENT = 0.005
"""How far the two ways to count may differ: a few instructions of start-up, none of the kernels' loops."""
# memcpy and memmove: AVX without `rep movs`, which single-stepping would count once a byte.
ENVIRONMENT = os.environ | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-ERMS,-FSRM"}

Counts = dict[str, dict[str, int]]
"""Instructions of a call, by shape and variant."""


class Subject(BaseModel):
    """A stem's icount.toml: shapes on which variants are compared with their recorded counts, series, or both."""

    model_config = ConfigDict(extra="forbid")

    upstream: list[str] = []
    ours: list[str] = []
    stepped: list[str] = []
    """Variants that valgrind does not know."""
    cross_checked: list[tuple[str, str]] = []
    """(variant, shape) that both ways count."""
    shapes: list[str] = []
    growth: list[Series] = []

    @property
    def variants(self) -> list[str]:
        return [*self.upstream, *self.ours]


class Counter:
    """Counts the calls of one program, built from step.c."""

    def __init__(self, step: Path, subject: Subject) -> None:
        self.step = str(step)
        self.subject = subject

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a counter. ClickException, with its output: it failed."""
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode != 0:
            raise click.ClickException(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
        return done

    def by_stepping(self, variant: str, shape: str) -> int:
        """Instructions of CALLS calls."""
        return int(self.run(self.step, variant, *shape.split()).stdout.split()[0])

    def by_callgrind(self, variant: str, shape: str) -> int:
        """Instructions of CALLS calls."""
        with tempfile.NamedTemporaryFile() as out:
            options = [f"--callgrind-out-file={out.name}", "--toggle-collect=counted_call"]
            done = self.run("valgrind", "--tool=callgrind", *options, self.step, variant, *shape.split(), "--plain")
        collected = re.search(r"Collected : (\d+)", done.stderr)
        if collected is None:
            raise click.ClickException(f"callgrind printed no count: {done.stderr[-500:]}")
        return int(collected[1])

    def supported(self, variant: str, shape: str) -> bool:
        """Whether this CPU can run the variant. ClickException: it can, and a call failed."""
        command = [self.step, variant, *shape.split(), "--plain"]
        code = subprocess.run(command, capture_output=True).returncode
        if code not in (0, LACKING):
            raise click.ClickException(f"{' '.join(command)} ended with {code}")
        return code == 0

    def disagreement(self, variants: list[str]) -> str:
        """Why counts by single-stepping cannot be compared with those by callgrind; "" if they can."""
        for variant, shape in self.subject.cross_checked:
            if variant in variants:
                one, other = self.by_stepping(variant, shape), self.by_callgrind(variant, shape)
                if abs(one - other) > AGREEMENT * other:
                    return f"{variant} on {shape} takes {one} instructions by single-stepping, {other} by callgrind"
        return ""

    def call(self, variant: str, shape: str) -> int:
        """Instructions of a call."""
        how = self.by_stepping if variant in self.subject.stepped else self.by_callgrind
        return round(how(variant, shape) / CALLS)

    def calls(self, asked: Sequence[tuple[str, str]], what: str) -> list[int]:
        """Instructions of a call of each (variant, shape), as many side by side as there are CPUs: no clock counts."""
        with progress.bar(progress.console()) as bar, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            task, counts = bar.add_task(what, total=len(asked)), []
            for count in pool.map(lambda one: self.call(*one), asked):
                counts.append(count)
                bar.advance(task)
        return counts

    def count(self, variants: list[str]) -> Counts:
        """All shapes."""
        asked = [(variant, shape) for shape in self.subject.shapes for variant in variants]
        counts: Counts = {shape: {} for shape in self.subject.shapes}
        for (variant, shape), count in zip(asked, self.calls(asked, "counting instructions"), strict=True):
            counts[shape][variant] = count
        return counts

    def count_growth(self) -> dict[str, list[int]]:
        """The series that this CPU can run, by what is counted."""
        every = self.subject.growth
        series = [one for one in every if self.supported(one.variant, one.shape_of(one.sizes[0]))]
        counts = iter(self.calls([(s.variant, s.shape_of(n)) for s in series for n in s.sizes], "counting growth"))
        return {one.what: list(islice(counts, len(one.sizes))) for one in series}


def toolchain() -> str:
    """What the counts depend on besides the sources."""
    memcpy = "AVX2" if "avx2" in environment.cpuinfo().get("flags", "").split() else "SSE2"
    gcc, (_, glibc) = environment.first_line("gcc", "-dumpfullversion"), platform.libc_ver()
    return f"gcc {gcc}, glibc {glibc}, memcpy for {memcpy}"


def text_of(recorded: Mapping[str, Counts]) -> str:
    """As JSON: a line a shape, so that a difference is read by shapes."""
    parts = (
        f" {json.dumps(tools)}: {{\n"
        + ",\n".join(f"  {json.dumps(shape)}: {json.dumps(counts[shape], sort_keys=True)}" for shape in sorted(counts))
        + "\n }"
        for tools, counts in sorted(recorded.items())
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


def accept(path: Path, counts: Counts, tools: str) -> None:
    """Record the counts; those of variants that were not counted stay, and those with other tools."""
    recorded: dict[str, Counts] = json.loads(path.read_text()) if path.exists() else {}
    kept = recorded.get(tools, {})
    recorded[tools] = {shape: kept.get(shape, {}) | found for shape, found in counts.items()}
    path.write_text(text_of(recorded))
    click.echo(f"recorded in {path}: commit it, and say why the counts changed")


def judge(shape: str, variant: str, now: int | None, recorded: int | None, incomparable: str) -> dict[str, Any]:
    """One item of the result. incomparable: empty, or why the recorded counts do not apply."""
    item: dict[str, Any] = {"name": f"{variant}: {shape}", "variant": variant, "shape": shape}
    item |= {"instructions": now, "recorded": recorded}
    if now is None:
        return item | {"status": "skipped", "reason": f"this CPU cannot run or count {variant}"}
    if incomparable:
        return item | {"status": "skipped", "reason": incomparable}
    if recorded is None or now > recorded * (1 + TOLERANCE):
        return item | {"status": "failed", "reason": f"{now} instructions, recorded are {recorded}"}
    return item | {"status": "passed"}


def show(stem: str, subject: Subject, items: list[dict[str, Any]]) -> None:
    """A line a shape: the count of each variant, and how many times fewer our best takes than the better upstream."""
    table = Table("shape", *subject.variants, "upstream / ours", title=f"{stem}: instructions a call")
    by = {(item["shape"], item["variant"]): item for item in items}
    for shape in subject.shapes:
        row = [by[shape, variant] for variant in subject.variants]
        best = {
            who: min(i["instructions"] for i in row if i["variant"] in names and i["instructions"] is not None)
            for who, names in (("upstream", subject.upstream), ("ours", subject.ours))
        }
        cells = [
            f"[red]{i['instructions']} (was {i['recorded']})[/]"
            if i["status"] == "failed"
            else str(i["instructions"] or "-")
            for i in row
        ]
        table.add_row(shape, *cells, f"{best['upstream'] / best['ours']:.1f}")
    progress.console().print(table)


def counted(stem: str, counter: Counter, accepting: bool) -> list[str]:
    """Counts all shapes, and writes the result. What failed."""
    start, recorded_in, subject = time.monotonic(), Path(f"bench/{stem}/icount.json"), counter.subject
    present = [variant for variant in subject.variants if counter.supported(variant, subject.shapes[-1])]
    if disagreement := counter.disagreement(present):
        progress.console().print(f"[yellow]SKIPPED[/] {', '.join(subject.stepped)}: {disagreement}")
        present = [variant for variant in present if variant not in subject.stepped]
    counts, tools = counter.count(present), toolchain()
    if accepting:
        accept(recorded_in, counts, tools)
    recorded: dict[str, Counts] = json.loads(recorded_in.read_text())
    expected = recorded.get(tools, {})
    incomparable = "" if expected else f"no counts are recorded for this toolchain: {tools}"
    items = [
        judge(shape, v, counts[shape].get(v), expected.get(shape, {}).get(v), incomparable)
        for shape in subject.shapes
        for v in subject.variants
    ]
    failed = [item["name"] for item in items if item["status"] == "failed"]
    compared = incomparable or f"{len(failed)} above {TOLERANCE:.0%} more than recorded"
    write("icount", stem, items, f"{len(items)} counts, {compared}", start)
    show(stem, subject, items)
    why = f"more than {TOLERANCE:.0%} above {recorded_in}: {'; '.join(failed)}. If it is worth it: make icount ACCEPT=1"
    return [why] if failed else []


def grown(stem: str, counter: Counter) -> list[str]:
    """Counts all series, and writes the result. What failed."""
    start, counts = time.monotonic(), counter.count_growth()
    items: list[dict[str, Any]] = []
    for one in counter.subject.growth:
        if one.what in counts:
            items.append(growth.judge(one, counts[one.what]))
        else:
            reason = f"this CPU cannot run {one.variant}"
            items.append({"name": one.what, "status": "skipped", "reason": reason})
    failed = [f"{stem}: {item['name']}: {item['reason']}" for item in items if item["status"] == "failed"]
    above = sum(bool(item.get("above")) for item in items)
    says = f"{len(items)} series, {len(failed)} grow faster than they may" + f", {above} than is wanted" * bool(above)
    write("growth", stem, items, says, start)
    show_growth(stem, items)
    return failed


def show_growth(stem: str, items: list[dict[str, Any]]) -> None:
    """A line a series."""
    table = Table("what", "grows with", "slope", "last step", "wanted", title=f"{stem}: how instructions grow")
    for item in (item for item in items if item["status"] != "skipped"):
        wanted = f"{item['wanted']:g}" + " [yellow](above what is wanted)[/]" * bool(item["above"])
        name = f"[red]{escape(item['name'])}[/]" if item["status"] == "failed" else escape(item["name"])
        sizes = f"{item['sizes'][0]:,} to {item['sizes'][-1]:,} {item['unit']}"
        table.add_row(name, sizes, escape(item["says"]), growth.two(item["last"]), wanted)
    progress.console().print(table)


def write(layer: str, stem: str, items: list[dict[str, Any]], says: str, start: float) -> None:
    """The result; what is skipped is said."""
    tools = {"counted with": toolchain(), "valgrind": environment.first_line("valgrind", "--version")}
    results.write(layer, stem, items, says=says, tools=tools, seconds=time.monotonic() - start)
    for reason in sorted({item["reason"] for item in items if item["status"] == "skipped"}):
        progress.console().print(f"[yellow]SKIPPED[/] {reason}")


@click.command()
@click.argument("stems", nargs=-1)
@click.option("--accept", "accepting", is_flag=True, help="Record the counts of this run as the expected ones.")
def main(stems: Sequence[str], accepting: bool) -> None:
    """Count the instructions of each stem's kernels: compare them with recorded ones, judge their growth (1 minute)."""
    failed: list[str] = []
    for stem in stems:
        subject = Subject.model_validate(tomllib.loads(Path(f"bench/{stem}/icount.toml").read_text()))
        counter = Counter(Path(f"build/bench/{stem}/step"), subject)
        failed += counted(stem, counter, accepting) if subject.shapes else []
        failed += grown(stem, counter) if subject.growth else []
    if failed:
        raise click.ClickException("\n".join(failed))


if __name__ == "__main__":
    main()
