# SPDX-License-Identifier: PostgreSQL
"""Tries changes of a stem in a layer, in the order of their checksums, until so many of them were changes."""

import dataclasses
import hashlib
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.markup import escape

from tests.changes.build import ROOT
from tests.changes.change import NO_CHANGE, Change, Row, Tried, Verdict
from tools.common import environment, progress, results, survivors
from tools.common.survivors import Survivor

COLOURS = {"killed": "green", "survived": "yellow", "counts only": "yellow"}
LISTED = ("survived", "counts only")
LAYER = "changes"
"""Of the results."""


class Cache:
    """What became of changes while all that decides it was as it is: build/changes/<stem>/<layer>/cache/."""

    def __init__(self, row: Row, layer: str, settings: str) -> None:
        digest = hashlib.sha256(f"{environment.cpu_level()} {settings}".encode())
        for path in sorted(files(map(Path, row.reads()))):
            digest.update(f"{path}\0".encode() + path.read_bytes() + b"\0")
        top = ROOT / row.stem / layer / "cache"
        self.folder = top / digest.hexdigest()[:16]
        for old in top.glob("*"):
            if old != self.folder:
                shutil.rmtree(old)
        self.folder.mkdir(parents=True, exist_ok=True)

    def place(self, change: Change) -> Path:
        """The file of a change."""
        return self.folder / f"{hashlib.sha256(repr((change.name, change.killers)).encode()).hexdigest()[:16]}.json"

    def get(self, change: Change) -> Tried | None:
        """What became of it."""
        if not (path := self.place(change)).exists():
            return None
        return Tried(change, **json.loads(path.read_text()))

    def put(self, tried: Tried) -> None:
        """Keep it, if nothing was skipped."""
        if tried.verdict != "skipped":
            told = {name: getattr(tried, name) for name in ("verdict", "by", "reason", "seconds")}
            self.place(tried.change).write_text(json.dumps(told))


def files(places: Iterable[Path]) -> set[Path]:
    """The files in these places, but for what Python compiles of them."""
    found = [each for place in places for each in (place.rglob("*") if place.is_dir() else [place])]
    return {path for path in found if path.is_file() and "__pycache__" not in path.parts}


@dataclasses.dataclass
class Trial:
    """What is tried of a row."""

    row: Row
    layer: str
    number: int | None
    """So many changes; None: all."""
    listed: Mapping[str, Survivor] = dataclasses.field(default_factory=dict)
    trusts: bool = False
    """What is listed is not tried."""
    part: tuple[int, int] = (0, 1)
    """I, N: of each N changes the one with the rest I."""
    name: str = ""
    """Only those whose names begin so."""
    quick: bool = False
    """One that is told by a test of the kernels, which any CPU can run and which ends soon."""
    settings: str = ""
    """Flags of compilers, which decide as well."""

    def chosen(self) -> list[Change]:
        """In their order."""
        which, parts = self.part
        order = sorted(self.row.changes(), key=lambda change: (change.rank, change.name))
        if self.quick:
            able = [change for change in order if all("/test_kernels" in killer for killer in change.killers)]
            return [change for change in able if re.fullmatch(r"csrc/\w+/[a-z_]+\.c", change.file)][:1]
        return [change for change in order if change.name.startswith(self.name)][which::parts]

    def run(self, jobs: int) -> list[Tried]:
        """Try them, `jobs` at a time."""
        waiting = self.chosen()
        number = len(waiting) if self.number is None else -(-self.number // self.part[1])
        cache, seen, tried = Cache(self.row, self.layer, self.settings), set[bytes](), list[Tried]()
        console = progress.console(stderr=True)
        with ThreadPoolExecutor(jobs) as pool, progress.bar(console) as bar:
            task = bar.add_task(f"{self.row.stem}, {self.layer}", total=number)
            while waiting and (missing := number - sum(one.verdict not in NO_CHANGE for one in tried)) > 0:
                batch, waiting = waiting[:missing], waiting[missing:]
                begun = [one for change in batch if isinstance(one := cache.get(change) or change, Tried)]
                fresh = [change for change in batch if change not in {one.change for one in begun}]
                ready = []
                for change, (fate, code) in zip(fresh, pool.map(self.prepare, fresh), strict=True):
                    mark = hashlib.sha256(code).digest()
                    if fate is None and code and mark in seen:
                        fate = "equivalent"
                    seen.add(mark)
                    if fate is None:
                        ready.append(change)
                    else:
                        begun.append(Tried(change, fate))
                for one in [*begun, *pool.map(self.attempt, ready)]:
                    cache.put(one) if one.change.name not in self.trusted() else None
                    tried.append(one)
                    if one.verdict not in NO_CHANGE:
                        bar.console.print(line(one), soft_wrap=True)
                        bar.advance(task)
        return sorted(tried, key=lambda one: one.change.rank)

    def trusted(self) -> Mapping[str, Survivor]:
        """Those that are not tried."""
        return self.listed if self.trusts else {}

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        """As Row.prepare."""
        return (None, b"") if change.name in self.trusted() else self.row.prepare(change)

    def attempt(self, change: Change) -> Tried:
        """As Row.attempt, with the seconds."""
        if listed := self.trusted().get(change.name):
            return Tried(change, listed.seen)  # type: ignore[arg-type]
        start = time.monotonic()
        tried = self.row.attempt(change)
        return dataclasses.replace(tried, seconds=round(time.monotonic() - start, 1))

    def report(self, tried: Sequence[Tried], seconds: float) -> tuple[list[dict[str, object]], str, bool]:
        """Print what became of them: the items of the result, a line, and whether nothing lives without a reason."""
        changes = self.row.changes()
        there, places = {change.name for change in changes}, {change.file for change in changes}
        # A list of the tests is of several layers: an entry begins with its file.
        mine = {name: one for name, one in self.listed.items() if "/" not in name or name.partition(" ")[0] in places}
        faults = survivors.wrong([one for one in tried if not one.change.killers], mine, there)
        faults |= {one.change.name: one.reason for one in tried if one.change.killers and one.verdict == "survived"}
        console = progress.console(stderr=True)
        for one in tried:
            if one.change.name in faults and one.verdict in LISTED and not one.change.killers:
                console.print(escape(survivors.entry(one)), soft_wrap=True)
        for name, fault in faults.items():
            console.print(f"[red]FAILED[/] {self.row.stem}: {escape(f'{name}: {fault}')}", soft_wrap=True)
        for reason, n in Counter(one.reason for one in tried if one.verdict == "skipped").items():
            console.print(f"[yellow]SKIPPED[/] {n}: {escape(reason)}", soft_wrap=True)
        says = f"{self.layer}: {summary(tried, faults)}"
        text = f"{self.row.stem}, {says}, of {len(there)} that there are; {seconds:.0f} s"
        console.print(f"[{'red' if faults else 'green'}]{text}[/]", soft_wrap=True)
        items = [item(one, self.layer, self.listed, faults) for one in tried if one.verdict != "refused"]
        named = {entry["name"] for entry in items}
        items += [
            {"name": name, "layer": self.layer, "status": "failed", "reason": fault}
            for name, fault in faults.items()
            if name not in named
        ]
        return items, says, not faults


def line(one: Tried) -> str:
    """What is printed of a change."""
    by = f" ({one.by or one.reason})"[:200] if one.by or one.reason else ""
    text = escape(f"{one.change.name}: {one.change.says}{by}")
    return f"[{COLOURS.get(one.verdict, 'dim')}]{one.verdict:11}[/] {text} [dim]{one.seconds:.0f} s[/]"


def summary(tried: Sequence[Tried], faults: Mapping[str, str]) -> str:
    """One line."""
    counted = Counter(one.verdict for one in tried)
    live = [one.change.name for one in tried if one.verdict in LISTED]
    without = sum(name in faults for name in live)
    killed = counted["killed"]
    parts = [f"{killed} of {killed + len(live)} changes told"]
    parts += [f"{len(live) - without} live with a reason"] if len(live) - without else []
    parts += [f"{without} live without one"] if without else []
    parts += [f"{counted['skipped']} skipped"] if counted["skipped"] else []
    return f"{', '.join(parts)}; besides {counted['equivalent']} change nothing, {counted['refused']} are refused"


def item(one: Tried, layer: str, listed: Mapping[str, Survivor], faults: Mapping[str, str]) -> dict[str, object]:
    """For the results."""
    name = one.change.name
    status = "failed" if name in faults else "skipped" if one.verdict == "skipped" else "passed"
    why = listed[name].why if name in listed else ""
    told = {"name": name, "layer": layer, "status": status, "seconds": one.seconds}
    told["reason"] = faults.get(name, one.reason)
    return told | {"change": one.change.says, "verdict": one.verdict, "by": one.by, "why": why}


def written(stem: str, ran: Mapping[str, tuple[list[dict[str, object]], str]], layer: str, seconds: float) -> None:
    """Write a stem's result. Of layers that did not run now it keeps what is there: each line is of what ran last."""
    path = results.RESULTS / layer / f"{stem}.json"
    before = results.read(path) if path.exists() else None
    kept = [item.model_dump() for item in before.items] if before else []
    items = [item for item in kept if item.get("layer") not in ran] + [
        item for part, _ in ran.values() for item in part
    ]
    tools = {"gcc": environment.first_line("gcc", "--version")}
    says = "; ".join(says for _, says in ran.values())
    results.write(layer, stem, items, says=says, tools=tools, seconds=round(seconds, 1), folder=results.RESULTS)
