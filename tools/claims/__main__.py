# SPDX-License-Identifier: PostgreSQL
"""Checks the claims of CLAIMS.md by what stands there.

    python -m tools.claims [--claim N] [--list]     runs the commands of each claim, or of one
    python -m tools.claims --ran                    runs nothing: judges by the results of this commit in build/results

A row of the table: its number, the claim, and the commands that show it: `make ...`, or `pytest -m claim3`, which
runs the tests that are marked so. A claim holds if all of its commands end with 0, and not all that they did
was skipped.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tools.common import environment, results
from tools.common.progress import console
from tools.common.results import Item

CLAIMS = Path("CLAIMS.md")
NEEDS = "compiled"
"""The target that builds what tests need."""
LAYERS = {
    "make prove": "proof", "make differential": "test", "make bench ONLY=shares": "simulation",
    "make test ONLY=minors": "minors", "make test CROSS=aarch64": "cross", "make check-upstream": "upstream",
    "make changes": "changes.*", "make bench ONLY=policies": "policies",
}  # fmt: skip
"""What layer of the results a command writes, where it has not the target's name: an expression."""


@dataclass(frozen=True)
class Claim:
    """A row of the table."""

    number: int
    text: str
    commands: list[str]


def read(text: str) -> list[Claim]:
    """The claims of a text. ClickException: a row has not three cells, a number out of order, or no command."""
    claims = list[Claim]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not cells[0].isdecimal():
            continue
        commands = re.findall(r"`((?:make|pytest -m) [^`]+)`", cells[-1])
        if len(cells) != 3 or int(cells[0]) != len(claims) + 1 or not commands:
            raise click.ClickException(f"Claim {cells[0]} of {CLAIMS}: the next number, the claim, and commands.")
        claims.append(Claim(int(cells[0]), cells[1], commands))
    return claims


def found(command: str, number: int, every: Sequence[results.Result]) -> list[Item]:
    """What a command has left in the results: of a marker, the tests that have it; of a target, its layer's items."""
    if command.startswith("pytest"):
        return [i for one in every for i in one.items if number in (i.model_extra or {}).get("claims", [])]
    layer = LAYERS.get(command, command.split()[1])
    mine = [one for one in every if re.fullmatch(layer, one.layer)]
    return [item for one in mine if (one.model_extra or {}).get("mode") != "quick" for item in one.items]


def verdict(items: Sequence[Item]) -> tuple[str, str]:
    """holds, FAILED, SKIPPED or not run; and of what, or why."""
    by = {status: [item for item in items if item.status == status] for status in ("failed", "passed", "skipped")}
    if by["failed"]:
        return "FAILED", f"{by['failed'][0].name}: {by['failed'][0].reason}"
    if by["passed"]:
        return "holds", f"{len(by['passed'])} passed, {len(by['skipped'])} skipped"
    return ("SKIPPED", by["skipped"][0].reason) if items else ("not run", "")


def run(command: str, number: int) -> tuple[str, str]:
    """Runs a command, and says what came of it."""
    programs = {"make": ["make"], "pytest": [sys.executable, "-m", "pytest"]}
    words = [*programs[command.split()[0]], *command.split()[1:]]
    console().print(f"claim {number}: {command}", markup=False)
    if command.startswith("pytest"):
        subprocess.run(["make", NEEDS], check=True)
        # pytest would import all files, to look for the marker.
        files = [path for path in Path().glob("tests/**/test_*.py") if f"mark.claim{number}" in path.read_text()]
        words += map(str, files)
    last = ""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    if process.returncode:
        return "FAILED", f"{command} ended with {process.returncode}: {last}"
    nothing = "SKIPPED" in last or ("skipped" in last and "passed" not in last)
    return ("SKIPPED" if nothing else "holds"), last


def together(each: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The worst of the verdicts of a claim's commands."""
    return min(each, key=lambda one: ["FAILED", "not run", "SKIPPED", "holds"].index(one[0]))


def show(seen: dict[int, tuple[str, str]]) -> None:
    table = Table("claim", "", "what was seen")
    for number, (said, why) in seen.items():
        colour = {"holds": "green", "FAILED": "red"}.get(said, "yellow")
        table.add_row(str(number), f"[{colour}]{said}", why.strip()[:300].replace("[", r"\["))
    console().print(table)


@click.command()
@click.option("--claim", type=int, help="Only the claim with this number.")
@click.option("--list", "listed", is_flag=True, help="Print the claims and run nothing.")
@click.option("--ran", is_flag=True, help="Run nothing: judge by the results of this commit.")
def main(claim: int | None, listed: bool, ran: bool) -> None:
    """Check the claims of CLAIMS.md."""
    claims = read(CLAIMS.read_text())
    if claim is not None and not 1 <= claim <= len(claims):
        raise click.UsageError(f"{CLAIMS} has the claims 1 to {len(claims)}: there is no claim {claim}.")
    chosen = [one for one in claims if claim in (None, one.number)]
    for one in chosen if listed or claim else []:
        console().print(f"{one.number}. {one.text}\n   {', '.join(one.commands)}", markup=False)
    if listed:
        return
    every = [one for one in results.whole() if one.commit == environment.commit()] if ran else []
    kept: dict[str, Any] = {}
    seen = {}
    for one in chosen:
        for command in one.commands:
            if command not in kept:
                kept[command] = verdict(found(command, one.number, every)) if ran else run(command, one.number)
        seen[one.number] = together([kept[command] for command in one.commands])
    show(seen)
    said = [verdict for verdict, _ in seen.values()]
    console().print("claims: " + ", ".join(f"{said.count(word)} {word}" for word in dict.fromkeys(said)))
    raise SystemExit("FAILED" in said or "holds" not in said)


if __name__ == "__main__":
    main()
