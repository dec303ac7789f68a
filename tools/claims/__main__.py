# SPDX-License-Identifier: PostgreSQL
"""Checks the claims of CLAIMS.md by what stands there: runs their commands, and looks for what they must print.

    python -m tools.claims [--claim N] [--minutes M] [--postgres CHECKOUT] [--list]

A row of the table: its number, the claim, `make` commands, how long they take together, and what they print. Of the
last, what stands in backquotes must be in the output of one of the commands; N stands for any number there, the same
one in all of a text. A command that several claims name runs once. build/claims/ gets each command's output, and
CLAIMS.md with what was seen.
"""

import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.table import Table

from tools.common.progress import console

CLAIMS = Path("CLAIMS.md")
INTO = Path("build/claims")
UNITS = {"s": 1 / 60, "min": 1.0, "h": 60.0}
CHECKOUT = "/path/to/postgres"
"""Stands in a command for a path that only the user knows."""
OWN = ("MAKEFLAGS", "MAKELEVEL", "CLAIM", "MINUTES", "PG", "LIST")
"""Of `make claims`, which `make` would hand on: the commands of CLAIMS.md run as if a person had called them."""


@dataclass(frozen=True)
class Claim:
    """A row of the table."""

    number: int
    text: str
    commands: list[str]
    minutes: float | None
    """After set-up, on 2 cores; None: nobody has timed it whole."""
    prints: list[str]
    """What must be in the output, as it stands there."""


@dataclass
class Ran:
    """A command that has run."""

    output: str
    code: int
    minutes: float


@dataclass
class Seen:
    """What came of a claim."""

    verdict: str
    """holds, FAILED or SKIPPED."""
    lines: list[str] = field(default_factory=list)
    """Of the output: where what must be printed was found; or why it failed."""
    minutes: float = 0.0


class TableError(click.ClickException):
    """A row of the table that cannot be checked."""


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def told_minutes(cell: str) -> float | None:
    """The minutes that a cell tells, as in "2 min" or "10 s"."""
    found = re.fullmatch(r"(\d+) (s|min|h)", cell)
    return int(found[1]) * UNITS[found[2]] if found else None


def read(text: str) -> list[Claim]:
    """The claims of a text, in its order. TableError: a row lacks a command or what it prints, or has not five
    cells, or has the number of one above."""
    claims = list[Claim]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not cells[0].isdecimal():
            continue
        if len(cells) != 5 or int(cells[0]) in {claim.number for claim in claims}:
            raise TableError(f"Claim {cells[0]} of {CLAIMS} stands there twice, or has not 5 cells.")
        commands = [command for command in quoted(cells[2]) if command.startswith("make ")]
        claim = Claim(int(cells[0]), cells[1], commands, told_minutes(cells[3]), quoted(cells[4]))
        if not claim.commands or not claim.prints:
            raise TableError(f"Claim {claim.number} of {CLAIMS} names no `make` command, or no `text` that it prints.")
        claims.append(claim)
    return claims


def found_in(output: str, piece: str) -> str:
    """The first line of the output that has the piece; empty if none has it. N is any number but 0, the same one each
    time: of "N of N" all. A number is taken whole: neither "10 failed" nor "0 failed of 80" has "0 failed of 8"."""
    head, *rest = re.split(r"\bN\b", re.escape(piece))
    number = r"(?P<N>(?=[\d,.]*[1-9])\d[\d,.]*)"
    pattern = head + "".join((number if i == 0 else "(?P=N)") + part for i, part in enumerate(rest))
    pattern = rf"(?<![\d,.]){pattern}" if re.match(r"\d|N\b", piece) else pattern
    pattern = rf"{pattern}(?![\d,.]*\d)" if re.search(r"(\d|\bN)$", piece) else pattern
    return next((line.strip() for line in output.splitlines() if re.search(pattern, line)), "")


def judge(claim: Claim, ran: dict[str, Ran]) -> Seen:
    """What came of a claim all of whose commands have run."""
    mine = [ran[command] for command in claim.commands]
    seen = Seen("holds", minutes=sum(one.minutes for one in mine))
    for command, one in zip(claim.commands, mine, strict=True):
        if one.code:
            return Seen("FAILED", [f"{command} ended with {one.code}: {log_of(command)}"], seen.minutes)
    output = "\n".join(one.output for one in mine)
    for piece in claim.prints:
        if line := found_in(output, piece):
            seen.lines.append(line)
        elif skipped := found_in(output, "SKIPPED"):
            return Seen("SKIPPED", [skipped], seen.minutes)
        else:
            return Seen("FAILED", [f"nowhere in the output: {piece}"], seen.minutes)
    return seen


def log_of(command: str) -> Path:
    return INTO / (re.sub(r"[^\w=.-]+", "_", command.removeprefix("make ")) + ".log")


def run(command: str, postgres: str) -> Ran:
    """Runs a command; its last line is shown, all of them are kept."""
    began, lines = time.monotonic(), []
    shown = command.replace(CHECKOUT, postgres)
    with (
        console().status(command) as status,
        log_of(command).open("w") as log,
        subprocess.Popen(
            ["bash", "-c", f"exec {shown}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={name: value for name, value in os.environ.items() if name not in OWN},
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            log.write(line)
            status.update(f"{command}: {line.strip()[:80]}", spinner_style="bold")
    return Ran("".join(lines), process.returncode, (time.monotonic() - began) / 60)


def time_of(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes >= 1 else f"{minutes * 60:.0f} s"


def with_seen(text: str, seen: dict[int, Seen]) -> str:
    """The table with what was seen, in the place of what must be printed."""
    lines = []
    for line in text.splitlines():
        number = line.strip("| ").partition(" ")[0]
        if number.isdecimal() and int(number) in seen:
            found = seen[int(number)]
            told = "; ".join(f"`{line}`" for line in found.lines).replace("|", r"\|")
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            line = f"|{'|'.join(cells[:3])}| {time_of(found.minutes)} | {found.verdict}: {told} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def show(claims: list[Claim], seen: dict[int, Seen]) -> None:
    table = Table("claim", "", "took", "what was seen")
    for claim in claims:
        found = seen[claim.number]
        colour = {"holds": "green", "SKIPPED": "yellow"}.get(found.verdict, "red")
        lines = "\n".join(line.replace("[", r"\[") for line in found.lines)
        table.add_row(str(claim.number), f"[{colour}]{found.verdict}", time_of(found.minutes), lines)
    console().print(table)


@click.command()
@click.option("--claim", type=int, help="Only the claim with this number.")
@click.option("--minutes", type=float, help="Only claims whose commands take up to so many minutes.")
@click.option("--postgres", default="", help="A checkout of PostgreSQL, for the commands that need one.")
@click.option("--list", "listed", is_flag=True, help="Print the claims and run nothing.")
def main(claim: int | None, minutes: float | None, postgres: str, listed: bool) -> None:
    """Check the claims of CLAIMS.md."""
    text = CLAIMS.read_text()
    claims = all_claims = read(text)
    if claim is not None:
        claims = [one for one in claims if one.number == claim]
        if not claims:
            raise click.UsageError(f"{CLAIMS} has the claims 1 to {len(all_claims)}: there is no claim {claim}.")
    if minutes is not None:
        claims = [one for one in claims if one.minutes is not None and one.minutes <= minutes]
    for one in claims if listed or len(claims) == 1 else []:
        console().print(f"{one.number}. {one.text}\n   {', '.join(one.commands)}", markup=False)
    if listed or not claims:
        return
    commands = list(dict.fromkeys(command for one in claims for command in one.commands))
    console().print(f"claims: {len(claims)}, by {len(commands)} commands")
    INTO.mkdir(parents=True, exist_ok=True)
    ran: dict[str, Ran] = {}
    for command in commands:
        if CHECKOUT in command and not postgres:
            ran[command] = Ran(f"SKIPPED {command}: say where a checkout is, as PG=/path/to/postgres", 0, 0.0)
        else:
            ran[command] = run(command, postgres)
    seen = {one.number: judge(one, ran) for one in claims}
    show(claims, seen)
    (INTO / "CLAIMS.md").write_text(with_seen(text, seen))
    console().print(f"the table with what was seen: {INTO / 'CLAIMS.md'}")
    raise SystemExit(any(found.verdict == "FAILED" for found in seen.values()))


if __name__ == "__main__":
    main()
