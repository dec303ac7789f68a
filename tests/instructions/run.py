# SPDX-License-Identifier: PostgreSQL
"""Run the meaning of each instruction against the CPU: every corner, every mask of 16 lanes, and many random inputs.

    python -m tests.instructions.run [--inputs N] [--seed N] [--only NAME]

An instruction that this CPU lacks is SKIPPED by name. Writes build/results/instructions/instructions.json, which the
report shows: the instruction, the kernels' files that use it, and the inputs.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click

from tests.instructions.compare import Amount, Outcome, compare
from tests.instructions.programs import Instruction, OnCpu, UnknownError, listed, on_cpu, with_meaning
from tests.instructions.used import NO_MEANING, used
from tools.common import environment, results
from tools.common.progress import bar, console


def item(one: Instruction, here: OnCpu | None, level: str, amount: Amount, files: list[str]) -> dict[str, Any]:
    """An instruction's line in the results. level: that of the list which has it; "" if none has."""
    told: dict[str, Any] = {"name": one.name, "files": files, "level": level}
    if not level:
        return told | {"status": "failed", "reason": "no list of tests/instructions has it"}
    if here is None or not here.supported:
        return told | {"status": "skipped", "reason": f"this CPU lacks {level}"}
    outcome: Outcome = compare(here, amount)
    counts = {"corners": outcome.corners, "random": outcome.random, "tried": outcome.tried}
    status = "failed" if outcome.difference else "passed"
    told |= {"status": status, "reason": outcome.difference, "seconds": round(outcome.seconds, 2)}
    return told | counts | {"on": Path(here.command[0]).name if len(here.command) > 1 else "this CPU"}


def run(amount: Amount, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """The items, in the order of the table."""
    meanings, here, levels = with_meaning(), on_cpu(), listed()
    files = used(meanings)
    if unknown := set(only) - set(meanings):
        names = ", ".join(sorted(unknown))
        raise click.ClickException(f"{names}: proofs/instructions/Table.v has no such name, with its immediate")
    chosen = [one for name, one in meanings.items() if not only or name in only]
    without = [name for name in files if name not in meanings and name not in NO_MEANING]
    items = [{"name": name, "status": "failed", "reason": "has no meaning", "files": files[name]} for name in without]
    with bar(console()) as progress, ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        task = progress.add_task("instructions", total=len(chosen))
        lines = ((one, here.get(one.name), levels.get(one.name, ""), amount, files.get(one.name, [])) for one in chosen)
        for found in pool.map(lambda line: item(*line), lines):
            items.append(found)
            progress.advance(task)
    return items


def sentence(items: list[dict[str, Any]]) -> str:
    """One line for people."""
    passed = sum(entry["status"] == "passed" for entry in items)
    tried = sum(entry.get("tried", 0) for entry in items)
    return f"{passed} of {len(items)} instructions do what their meaning says, on {tried:,} inputs"


@click.command(help=__doc__)
@click.option("--inputs", default=100_000, help="Random inputs of each instruction.")
@click.option("--seed", default=1, help="Of the random inputs.")
@click.option("--only", multiple=True, help="Only these, with their immediates. No result is written.")
def main(inputs: int, seed: int, only: tuple[str, ...]) -> None:
    started = time.monotonic()
    try:
        items = run(Amount(random=inputs, masks=True, seed=seed), only)
    except UnknownError as error:
        raise click.ClickException(str(error)) from error
    for entry in items:
        if entry["status"] != "passed":
            console().print(f"  {entry['status'].upper()} {entry['name']}: {entry['reason']}", markup=False)
    says = sentence(items)
    if not only:
        tools = {"gcc": environment.first_line("gcc", "-dumpfullversion")}
        results.write("instructions", "instructions", items, says=says, tools=tools, seconds=time.monotonic() - started)
    console().print(f"instructions: {says}; {time.monotonic() - started:.0f} s", markup=False)
    raise SystemExit(any(entry["status"] == "failed" for entry in items))


if __name__ == "__main__":
    main()
