# SPDX-License-Identifier: PostgreSQL
"""Judges claims by what a job has run: by the output of its steps, which build/job/NAME/ keeps. Runs nothing.

    python -m tools.claims.ran ci

A step has run a command if it is the same target, or a job with this target among its steps. If it was narrowed, as by
UP_TO=5000, a claim holds "in part": what the claim prints may then be missing, and that is no failure. A claim with
a command that no step has run is not judged.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import click
from rich.table import Table

from tools.claims import __main__ as claims
from tools.claims.__main__ import Claim, Ran, Seen
from tools.common.progress import console
from tools.job.__main__ import inner
from tools.job.kept import KEPT, Kept

PART_OF = {"differential": "test-python"}
"""A target all of whose tests another one runs, too."""
COLOURS = {"holds": "green", "in part": "green", "FAILED": "red"}


def variables(words: Sequence[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def covers(step: str, command: str, within: Mapping[str, set[str]]) -> bool | None:
    """Whether a step, "prove STEM=x", has run a whole command, "make prove STEM=x"; None: only a part of it, or of its
    inputs. KeyError: it has run nothing of it."""
    target, *had = step.split()
    found = list[bool | None]()
    for one in (target, *within.get(target, ())):
        with suppress(KeyError):
            found.append(alone(" ".join([one, *had]), command))
    if not found:
        raise KeyError(command)
    return True if True in found else None


def alone(step: str, command: str) -> bool | None:
    """As covers(), of the step's own target."""
    (target, *had), (wanted, *words) = step.split(), command.removeprefix("make ").split()
    narrowed, asked = variables(had), variables(words)
    narrowed.pop("BARE", "")
    stem = asked.pop("STEM", "")
    other = target not in (wanted, PART_OF.get(wanted)) or narrowed.pop("STEM", stem) != stem
    if other or asked.items() - narrowed.items() or not all("=" in word for word in words):
        raise KeyError(command)
    return True if narrowed == asked else None


def found(command: str, steps: Sequence[Kept], within: Mapping[str, set[str]]) -> tuple[Ran, bool] | None:
    """What the steps printed that have run a command, and whether they ran all of it; None if none has."""
    outputs, whole, code = [], False, 0
    for step in steps:
        try:
            covered = covers(step.step, command, within)
        except KeyError:
            continue
        outputs.append(step.log.read_text(errors="replace"))
        whole, code = whole or covered is True, code or int(step.failed)
    return (Ran("\n".join(outputs), code, 0.0), whole) if outputs else None


def excuse(claim: Claim, output: str) -> str:
    """A line that says that a target or a stem of the claim was skipped: of a whole job others say so, too."""
    words = {word for one in claim.commands for word in re.split(r"[ =]", one.removeprefix("make ")) if word.islower()}
    names = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b")
    lines = (line.strip() for line in output.splitlines() if "SKIPPED" in line)
    return next((line for line in lines if names.search(line)), "")


def judge(claim: Claim, ran: Mapping[str, tuple[Ran, bool] | None]) -> Seen:
    """What came of a claim: holds, in part, FAILED, SKIPPED, or not run."""
    mine = {command: ran[command] for command in claim.commands}
    if missing := [command for command, one in mine.items() if one is None]:
        return Seen("not run", missing)
    known = [one for one in mine.values() if one is not None]
    if failed := [command for command, one in mine.items() if one and one[0].code]:
        return Seen("FAILED", [f"{command} failed" for command in failed])
    output, whole = "\n".join(one.output for one, _ in known), all(all_of_it for _, all_of_it in known)
    seen = Seen("holds" if whole else "in part")
    for piece in claim.prints:
        if line := claims.found_in(output, piece):
            seen.lines.append(line)
        elif not whole:
            seen.lines.append(f"not in the part that ran: {piece}")
        elif skipped := excuse(claim, output):
            return Seen("SKIPPED", [skipped])
        else:
            return Seen("FAILED", [f"nowhere in the output: {piece}"])
    return seen


def show(wanted: Sequence[Claim], seen: Mapping[int, Seen]) -> None:
    table = Table("claim", "", "what was seen", title="claims, by what ran", title_justify="left")
    for claim in (one for one in wanted if seen[one.number].verdict != "not run"):
        one = seen[claim.number]
        lines = "\n".join(line.replace("[", r"\[") for line in one.lines)
        table.add_row(str(claim.number), f"[{COLOURS.get(one.verdict, 'yellow')}]{one.verdict}", lines)
    console().print(table)
    rest = {claim.number: seen[claim.number].lines for claim in wanted if seen[claim.number].verdict == "not run"}
    each = "; ".join(f"{number} ({', '.join(commands)})" for number, commands in rest.items())
    if rest:
        console().print(f"not run by this job: {each}", markup=False, soft_wrap=True)
    verdicts = [one.verdict for one in seen.values()]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys((*COLOURS, *verdicts)))
    console().print(f"claims: {counts}", markup=False)


@click.command()
@click.argument("job")
def main(job: str) -> None:
    """Judge the claims by what JOB has run."""
    path = KEPT / job / "steps.json"
    if not path.exists():
        raise click.ClickException(f"{path} is not there: run `make {job}` first")
    steps, within = Kept.load(path), inner()
    wanted = claims.read(claims.CLAIMS.read_text())
    commands = dict.fromkeys(command for claim in wanted for command in claim.commands)
    ran = {command: found(command, steps, within) for command in commands}
    seen = {claim.number: judge(claim, ran) for claim in wanted}
    show(wanted, seen)
    raise SystemExit(any(one.verdict == "FAILED" for one in seen.values()))


if __name__ == "__main__":
    main()
