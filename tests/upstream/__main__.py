# SPDX-License-Identifier: PostgreSQL
"""Upstream's own tests, run by a server that has our kernels inside, and by an unchanged one beside it.

    python -m tests.upstream --major 15 [--kernels NAMES] [--suites NAMES] [--checkout DIR] [--mends | --on-mount]

Both are built with asserts. Each call of a kernel is counted; then each kernel is spoiled, and a suite must fail.

With --mends, in the place of kernels: what mends our findings. Each finding must be lost in the unchanged server only.
With --on-mount: the unchanged server again, on `pgquern mount`, with full_page_writes = off.

Exit code: 0 if all is as it must be; 1 if not; 2 if a name is unknown.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from tests.upstream import build, kinds, obtain
from tests.upstream import mends as findings
from tests.upstream.build import Ran, Tree
from tests.upstream.kinds import Kind
from tools.common import environment, results
from tools.common.environment import cpu_level
from tools.common.progress import console
from tools.drift import functions, source
from tools.drift.__main__ import compared_with, found_of, show

SUITES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("suites.toml").read_text())
PATCH = Path("build/upstream/pgquern.patch")
MENDS_PATCH = Path("build/upstream/mends.patch")


def named(names: str) -> list[str]:
    """The suites that are named, or all. Raises ValueError for a name that there is not."""
    if unknown := [name for name in names.split() if name not in SUITES]:
        raise ValueError(f"there is no suite {' '.join(unknown)}; there are: {' '.join(SUITES)}")
    return names.split() or list(SUITES)


@dataclass
class Compared:
    """A suite in both servers."""

    suite: str
    control: Ran
    ours: Ran
    counts: dict[str, tuple[int, str]]
    starts: int | None = None
    """How often a server started on the mount; None: none should."""

    @property
    def reason(self) -> str:
        """Why it is no success; "" if it is one."""
        if self.ours.code:
            also = "; the unchanged server fails, too" if self.control.code else ""
            where = "with our kernels" if self.starts is None else "on the mount"
            return f"failed {where}{also}: {self.ours.log}"
        if self.control.code:
            return f"the unchanged server fails, so nothing is compared: {self.control.log}"
        if self.ours.tests != self.control.tests or not self.ours.tests:
            return f"{self.ours.tests} tests, but {self.control.tests} of the unchanged server"
        if self.starts == 0:
            return "no server started on the mount"
        return ""


@dataclass
class Run:
    """What is asked for, and what has been seen."""

    work: Path
    version: str
    kernels: list[Kind]
    suites: list[str]
    only: str
    control: Tree
    ours: Tree
    compared: list[Compared] = field(default_factory=list)
    broken: list[tuple[Kind, Ran]] = field(default_factory=list)

    def counting(self) -> Path:
        """An empty folder that takes the counts; an unchanged server leaves it so."""
        folder = self.work / "counts"
        shutil.rmtree(folder, ignore_errors=True)
        build.give(folder)
        return folder

    def check(self, tree: Tree, suite: str, counts: Path, broken: str = "", only: str = "") -> Ran:
        log = self.work / "logs" / f"{suite}-{broken or tree.folder.name}.log"
        settings = {"PGQUERN_BREAK": broken, "PGQUERN_COUNTS": str(counts)}
        settings |= build.HASTE if broken else {}
        settings |= {"PGQUERN_AS_USUAL": " ".join(SUITES[suite].get("as_usual", {}))} if tree.on_mount else {}
        level = {} if cpu_level() == "all" else {"PGQUERN_CPU": cpu_level()}
        return tree.check(SUITES[suite]["folder"], log, settings | level, only or self.only)

    def compare(self, suite: str) -> None:
        """Side by side: most suites wait more than they compute."""
        counts = self.counting()
        with ThreadPoolExecutor(2) as both:
            control = both.submit(self.check, self.control, suite, counts)
            ours = both.submit(self.check, self.ours, suite, counts)
            one = Compared(suite, control.result(), ours.result(), {})
        if self.ours.on_mount:
            one.starts = len((counts / "starts").read_text().splitlines()) if (counts / "starts").exists() else 0
        else:
            one.counts = build.counts(counts)
        self.compared.append(one)

    def compare_all(self) -> None:
        """Each suite that can run here."""
        no_tap = lacks_tap()
        for suite in self.suites:
            if SUITES[suite].get("tap") and no_tap:
                console().print(f"[yellow]SKIPPED[/] {suite}: Perl's IPC::Run is missing (libipc-run-perl)")
                continue
            self.compare(suite)
            one = self.compared[-1]
            calls = ", ".join(f"{count:,} {name}" for name, (count, _) in sorted(one.counts.items()))
            says = f"calls: {calls or 0}" if one.starts is None else f"{one.starts} starts on the mount"
            console().print(f"{suite}: {'FAILED' if one.reason else 'passed'}, {one.ours.tests} tests; {says}")

    def spoil(self, kind: Kind) -> None:
        assert kind.broken is not None
        ran = self.check(self.ours, kind.broken.suite, self.counting(), kind.name, kind.broken.only)
        self.broken.append((kind, ran))

    def calls(self, kind: Kind) -> int:
        return sum(one.counts.get(kind.name, (0, ""))[0] for one in self.compared)

    def level(self, kind: Kind) -> str:
        """As the servers saw it."""
        return ", ".join(sorted({one.counts[kind.name][1] for one in self.compared if kind.name in one.counts}))


def lacks_tap() -> bool:
    return bool(subprocess.run(["perl", "-MIPC::Run", "-e1"], capture_output=True).returncode)


def table(run: Run) -> Table:
    shown = Table(title=f"PostgreSQL {run.version} with asserts: upstream's suites", title_justify="left")
    for head in ("suite", "control", "ours"):
        shown.add_column(head)
    for head in ("tests", "s", "s ours", *(f"calls:\n{kind.name.replace('_', chr(10), 1)}" for kind in run.kernels)):
        shown.add_column(head, justify="right")
    word = {True: "[green]passed[/]", False: "[red]failed[/]"}
    for one in run.compared:
        calls = (f"{one.counts.get(kind.name, (0, ''))[0]:,}" for kind in run.kernels)
        shown.add_row(
            one.suite, word[not one.control.code], word[not one.ours.code], str(one.ours.tests),
            f"{one.control.seconds:.0f}", f"{one.ours.seconds:.0f}", *calls,
        )  # fmt: skip
    return shown


def tell(run: Run) -> None:
    console().print(table(run))
    for one in run.compared:
        if one.reason:
            console().print(f"[red]failed[/] {one.suite}: {escape(one.reason)}", soft_wrap=True)


def items(run: Run, kind: Kind, whole: bool) -> list[dict[str, Any]]:
    """The suites that called this kernel, and what its spoiled answers did."""
    found = []
    for one in run.compared:
        calls = one.counts.get(kind.name, (0, ""))[0]
        if calls:
            share = sum(other.name in one.counts for other in run.kernels)
            found.append(
                {"name": f"{one.suite}: {kind.name}", "status": "failed" if one.reason else "passed", "calls": calls,
                 "seconds": max(one.ours.seconds, one.control.seconds) / share, "reason": one.reason,
                 "tests": one.ours.tests}
            )  # fmt: skip
    if not found:
        reason = f"{'no suite' if whole else 'none of these suites'} calls {kind.symbol}"
        found.append({"name": kind.name, "status": "failed" if whole else "skipped", "reason": reason})
    for other, ran in run.broken:
        if other == kind:
            reason = "" if ran.code else f"{kind.symbol} gave wrong answers, and {kind.broken.suite} passed: {ran.log}"  # type: ignore[union-attr]
            status = "passed" if ran.code else "failed"
            found.append({"name": f"{kind.name} broken", "status": status, "seconds": ran.seconds, "reason": reason})
    return found


def report(run: Run, whole: bool) -> bool:
    """Prints the table, writes the results; whether all is well."""
    tell(run)
    for kind, ran in run.broken:
        says = "the suite fails, as it must" if ran.code else "[red]the suite passes all the same[/]"
        console().print(f"{kind.name} broken, {kind.broken.suite}: {says} ({ran.seconds:.0f} s)")  # type: ignore[union-attr]
    well = not any(one.reason for one in run.compared)
    for stem in dict.fromkeys(kind.stem for kind in run.kernels):
        of_stem = [kind for kind in run.kernels if kind.stem == stem]
        found = [item for kind in of_stem for item in items(run, kind, whole)]
        calls = "; ".join(f"{run.calls(kind):,} calls of {kind.symbol} at {run.level(kind)}" for kind in of_stem)
        says = f"{run.version}, {len(run.compared)} suites as unchanged: {calls}"
        console().print(f"{stem}: {says}", soft_wrap=True)
        tools = {"gcc": environment.first_line("gcc", "--version"), "postgres": run.version}
        result = results.write("upstream", stem, found, says=says, tools=tools)
        well = well and result.status != "failed"
    return well


def mended(run: Run, mends: list[Kind]) -> bool:
    """Each finding by both servers, then the suites; whether all is well."""
    tries = [findings.tried(mend, run.control, run.ours) for mend in mends]
    for each in tries:
        word = {"passed": "[green]mended[/]", "failed": "[red]failed[/]", "skipped": "[yellow]SKIPPED[/]"}[each.status]
        console().print(f"{each.mend.name}: {word} ({each.seconds:.0f} s) {escape(each.reason or each.said)}")
    run.compare_all()
    tell(run)
    for stem in dict.fromkeys(mend.stem for mend in mends):
        found = [
            {"name": each.mend.name, "status": each.status, "seconds": each.seconds, "reason": each.reason}
            for each in tries
            if each.mend.stem == stem
        ]
        found += [
            {"name": one.suite, "status": "failed" if one.reason else "passed", "reason": one.reason,
             "seconds": max(one.control.seconds, one.ours.seconds) / len(mends), "tests": one.ours.tests}
            for one in run.compared
        ]  # fmt: skip
        count = sum(each.status == "passed" for each in tries if each.mend.stem == stem)
        says = f"{run.version}: {count} mended; {len(run.compared)} suites as unchanged"
        results.write("mends", stem, found, says=says, tools={"gdb": environment.first_line("gdb", "--version")})
    return not any(each.status == "failed" for each in tries) and not any(one.reason for one in run.compared)


def mounted(run: Run) -> bool:
    """The suites of the unchanged server on the mount, as of the same one without; whether all is well."""
    run.compare_all()
    tell(run)
    for one in run.compared:
        for test, reason in SUITES[one.suite].get("as_usual", {}).items():
            console().print(f"{one.suite}, {test} with full page images: {reason}", soft_wrap=True)
    return not any(one.reason for one in run.compared)


def skipped(kernels: list[Kind], reason: str) -> None:
    console().print(f"[yellow]SKIPPED[/]: {escape(reason)}", soft_wrap=True)
    for stem in dict.fromkeys(kind.stem for kind in kernels):
        items = [{"name": "upstream's suites", "status": "skipped", "reason": reason}]
        results.write("upstream", stem, items, says="skipped", tools={})


def write_patch(chosen: list[Kind], top: Path, to: Path) -> tuple[dict[Path, str], dict[str, str]]:
    """What changes, and what does not fit; the patch is written, and what does not fit is told."""
    texts, left_out = kinds.put_in(chosen, top)
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(kinds.patch(texts, top))
    for name, reason in left_out.items():
        console().print(f"[red]left out[/] {name}: {escape(reason)}", soft_wrap=True)
    console().print(f"{to}: {len(chosen) - len(left_out)} of {len(chosen)}, {len(texts)} files")
    return texts, left_out


def look_at(checkout: Path, chosen: list[Kind], to: Path) -> dict[str, str]:
    """The patch for a checkout, and which functions are not as the models know them; returns what is left out."""
    version = source.version(checkout)
    major = re.match(r"\d+", version)
    assert major is not None, version
    beside = compared_with(major[0])
    entries = {entry.name: entry for kind in chosen for entry in functions.load(kind.stem)}
    show(version, [found_of(entry, entry.text(checkout), beside) for entry in entries.values()])
    return write_patch(chosen, checkout, to)[1]


def fill_from(checkout: Path | None, major: str, work: Path) -> tuple[str, Any]:
    """The name of the version, and what puts its source into a tree."""
    if checkout:
        folder = checkout.resolve()
        return f"{source.version(folder)}-checkout", lambda tree: build.copy(folder, tree.folder)
    archive = obtain.tarball(major, Path("build/upstream/source")).resolve()
    version = archive.name.split("_")[1].partition(".orig")[0]
    copy = work / archive.name
    if not copy.exists():
        shutil.copyfile(archive, copy)
    return version, lambda tree: tree.must("tar", "-xf", copy, "--strip-components=1")


@click.command(help=__doc__)
@click.option("--major", default="", help="Of the source package.")
@click.option("--kernels", default="", help="Only these.")
@click.option("--suites", default="", help="Only these.")
@click.option("--tests", default="", help="Only these TAP tests of a suite: t/001*.")
@click.option("--mends", is_flag=True, help="What mends our findings, in the place of kernels.")
@click.option("--on-mount", is_flag=True, help="The unchanged server on `pgquern mount`, in the place of kernels.")
@click.option("--checkout", type=click.Path(path_type=Path, exists=True), help="In place of the source package.")
def main(
    major: str, kernels: str, suites: str, tests: str, checkout: Path | None, mends: bool, on_mount: bool
) -> None:  # fmt: skip
    known = {name: kind for name, kind in kinds.load().items() if (kind.finding if mends else kind.symbol)}
    try:
        chosen, names = kinds.chosen(known, kernels), named(suites)
    except ValueError as error:
        console(stderr=True).print(str(error), markup=False, soft_wrap=True)
        raise SystemExit(2) from error
    if checkout and not on_mount:
        left_out = look_at(checkout, chosen, MENDS_PATCH if mends else PATCH)
        if not suites:
            raise SystemExit(bool(left_out))
    work = build.workshop()
    try:
        version, fill = fill_from(checkout, major, work)
    except obtain.NotHad as error:
        skipped(chosen, f"PostgreSQL's source cannot be had: {error}")
        return
    console().print(f"PostgreSQL {version}, as it is: {work / version / 'control'}")
    control = build.control(work, version, fill)
    if on_mount:
        ours = build.changed(work, control, "mounted", {}, "", on_mount=True)
        raise SystemExit(not mounted(Run(work, version, [], names, tests, control, ours)))
    texts, left_out = write_patch(chosen, control.folder, MENDS_PATCH if mends else PATCH)
    if left_out:
        raise SystemExit(1)
    console().print(f"PostgreSQL {version} with {' '.join(kind.name for kind in chosen)}")
    if mends:
        ours = build.changed(work, control, "mended", texts, "")
        raise SystemExit(not mended(Run(work, version, [], names, tests, control, ours), chosen))
    ours = build.changed(work, control, "pgquern", texts, build.library(work, chosen))
    if missing := {kind.symbol for kind in chosen} - build.symbols(ours.postgres):
        console().print(f"[red]failed[/] the server does not call {' '.join(sorted(missing))}")
        raise SystemExit(1)
    run = Run(work, version, chosen, names, tests, control, ours)
    run.compare_all()
    for kind in chosen:
        if kind.broken and any(one.suite == kind.broken.suite for one in run.compared):
            run.spoil(kind)
    raise SystemExit(not report(run, whole=not (suites or tests)))


if __name__ == "__main__":
    main()
