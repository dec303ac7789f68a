# SPDX-License-Identifier: PostgreSQL
"""Which source lines ask for I/O, and how often it failed there, was cut by a stop, and was interrupted.

A stem's world prints a line for each chain of callers of its disks (tests/world/calls.h). Where a stem has one function
that all reads go through, and one for all writes, the line that counts is the one that calls this function.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

CHAIN = re.compile(r"^call (\w+) (\d+) (\d+) (\d+) (\d+|-) ([0-9a-f,]+)$", re.MULTILINE)
NEVER = "?"
"""The call of a line that never ran."""
FAULTS = ("failed", "cut", "interrupted")


class Frame(NamedTuple):
    """A place in the program."""

    function: str
    file: str
    line: int


class Chain(NamedTuple):
    """What a disk was asked for, and the addresses of the callers, the nearest one first."""

    what: str
    addresses: str
    may_be_short: bool


@dataclass(frozen=True)
class Line:
    """A line that asks for I/O. `interrupted` is None if no call of it can move fewer bytes than it asks for."""

    line: str
    what: str
    made: int = 0
    failed: int = 0
    cut: int = 0
    interrupted: int | None = 0

    def lacks(self, faults: Iterable[str]) -> list[str]:
        """The faults that never came here; all of them if the line never ran."""
        return [fault for fault in faults if getattr(self, fault) == 0]

    def record(self) -> dict[str, str | int | None]:
        """For the results."""
        return asdict(self)


def counted(output: str) -> Counter[tuple[Chain, str]]:
    """By chain and column: what a run of the program has printed."""
    found = Counter[tuple[Chain, str]]()
    for what, made, failed, cut, interrupted, addresses in CHAIN.findall(output):
        chain = Chain(what, addresses, interrupted != "-")
        numbers = zip(("made", *FAULTS), (made, failed, cut, interrupted), strict=True)
        found.update({(chain, column): int(n) for column, n in numbers if n != "-"})
    return found


def frames(program: Path, addresses: Iterable[str]) -> dict[str, list[Frame]]:
    """The frames at each address, those that are inlined first."""
    listed = sorted(set(addresses))
    command = ["addr2line", "-a", "-f", "-i", "-e", str(program), *(f"0x{address}" for address in listed)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found: dict[str, list[Frame]] = {}
    here: list[Frame] = []
    rest = iter(lines)
    for line in rest:
        if line.startswith("0x"):
            here = found.setdefault(f"{int(line, 16):x}", [])
            continue
        file, _, number = next(rest).partition(" ")[0].rpartition(":")
        here.append(Frame(line, file, int(number) if number.isdigit() else 0))
    return found


def kernel_file(file: str) -> str:
    """csrc/STEM/NAME.c, or nothing if the file is no kernel's."""
    part = re.search(r"csrc/\w+/\w+\.[ch]$", file)
    return part[0] if part else ""


def named(calls: Counter[tuple[Chain, str]], program: Path) -> tuple[dict[tuple[str, str], Line], set[str]]:
    """The lines by place and word, and the functions that all goes through."""
    at = frames(program, (address for chain, _ in calls for address in chain.addresses.split(",")))
    lines: dict[tuple[str, str], Line] = {}
    through = set()
    for chain in {chain for chain, _ in calls}:
        way = [frame for address in chain.addresses.split(",") for frame in at[address] if kernel_file(frame.file)]
        if not way:
            continue
        if len(way) > 1:
            through.add(way[0].function)
        asks = way[min(1, len(way) - 1)]
        key = (f"{kernel_file(asks.file)}:{asks.line}", chain.what)
        old = lines.get(key, Line(*key, interrupted=None))
        numbers = {column: getattr(old, column) + calls[chain, column] for column in ("made", "failed", "cut")}
        if chain.may_be_short:
            numbers["interrupted"] = (old.interrupted or 0) + calls[chain, "interrupted"]
        lines[key] = Line(*key, **{"interrupted": old.interrupted, **numbers})
    return lines, through


def never_made(stem: str, through: set[str], seen: set[str]) -> Iterator[Line]:
    """Lines that call one of these functions, and never did."""
    call = re.compile(rf"^\s.*\b({'|'.join(sorted(through))})\(")
    for file in sorted(Path("csrc", stem).glob("*.c")) if through else []:
        for number, text in enumerate(file.read_text().splitlines(), 1):
            if call.match(text) and not text.lstrip().startswith(("*", "/*")) and f"{file}:{number}" not in seen:
                yield Line(f"{file}:{number}", NEVER)


def lines_of(stem: str, program: Path, calls: Counter[tuple[Chain, str]]) -> list[Line]:
    """Each line of a stem that asks for I/O, also those that never did. program: its world."""
    lines, through = named(calls, program)
    seen = {line for line, _ in lines}
    return sorted([*lines.values(), *never_made(stem, through, seen)], key=lambda at: (at.line, at.what))


def applying(lines: Iterable[Line]) -> list[str]:
    """The faults that a stem's world has: those that came anywhere."""
    return [fault for fault in FAULTS if any(getattr(line, fault) for line in lines)]


def joined(parts: Iterable[Sequence[Line]]) -> list[Line]:
    """The lines of parts of a world's runs, summed up. A line that never ran in one may have run in another."""
    lines: dict[tuple[str, str], Line] = {}
    for line in (line for part in parts for line in part):
        old = lines.get(key := (line.line, line.what), Line(*key, interrupted=None))
        numbers = {column: getattr(old, column) + getattr(line, column) for column in ("made", "failed", "cut")}
        both = [n for n in (old.interrupted, line.interrupted) if n is not None]
        lines[key] = Line(*key, **numbers, interrupted=sum(both) if both else None)
    ran = {line.line for line in lines.values() if line.what != NEVER}
    return sorted(
        (line for line in lines.values() if line.what != NEVER or line.line not in ran),
        key=lambda at: (at.line, at.what),
    )


def table(name: str, lines: Iterable[Line]) -> Table:
    """For people; what a line lacks is marked."""
    shown = Table("line", "call", "made", *FAULTS, title=f"world {name}: lines that ask for I/O", title_justify="left")
    for line in lines:
        numbers = (getattr(line, column) for column in ("made", *FAULTS))
        cells = ("-" if n is None else f"{n:,}" if n else "[red]0[/]" for n in numbers)
        shown.add_row(line.line.removeprefix("csrc/"), line.what, *cells)
    return shown
