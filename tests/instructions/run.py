# SPDX-License-Identifier: PostgreSQL
"""Run the meaning of each instruction against the CPU: every corner, every mask of 16 lanes, and many random inputs.

    python -m tests.instructions.run [--inputs N] [--seed N] [--only NAME]

An instruction that this CPU lacks is SKIPPED by name. Writes build/results/instructions/instructions.json, which the
report shows: the instruction, the kernels' files that use it, and the inputs.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from typing import Any

import click

from tests.instructions.compare import Amount, Outcome, compare
from tests.instructions.programs import Instruction, OnCpu, UnknownError, on_cpu, with_meaning
from tests.instructions.used import NO_MEANING, used
from tools import environment, results
from tools.progress import bar, console


def item(one: Instruction, here: OnCpu | None, amount: Amount, files: list[str]) -> dict[str, Any]:
    """An instruction's line in the results."""
    if here is None:
        return {"name": one.name, "status": "failed", "reason": "no list of tests/instructions has it", "files": files}
    if not here.supported:
        why = f"this CPU lacks {here.level}"
        return {"name": one.name, "status": "skipped", "reason": why, "files": files, "level": here.level}
    outcome: Outcome = compare(one, amount)
    counts = {"corners": outcome.corners, "random": outcome.random, "tried": outcome.tried}
    status = "failed" if outcome.difference else "passed"
    base = {"name": one.name, "status": status, "reason": outcome.difference, "seconds": round(outcome.seconds, 2)}
    return base | counts | {"files": files, "level": here.level}


def run(amount: Amount, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """The items, in the order of the table."""
    meanings, here = with_meaning(), on_cpu()
    files = used(meanings)
    if unknown := set(only) - set(meanings):
        names = ", ".join(sorted(unknown))
        raise click.ClickException(f"{names}: proofs/instructions/Table.v has no such name, with its immediate")
    chosen = [one for name, one in meanings.items() if not only or name in only]
    without = [name for name in files if name not in meanings and name not in NO_MEANING]
    items = [{"name": name, "status": "failed", "reason": "has no meaning", "files": files[name]} for name in without]
    with bar(console()) as progress, ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        task = progress.add_task("instructions", total=len(chosen))
        for found in pool.map(lambda one: item(one, here.get(one.name), amount, files.get(one.name, [])), chosen):
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
