# SPDX-License-Identifier: PostgreSQL
"""Instruction counts of kernels for another machine's CPU, against upstream's code compiled for it.

    python -m bench.icount.emulated MACHINE [--stem STEM]

qemu runs one instruction at a time and logs it. (Its plugins can count, too, and gave the same numbers with 7.2; but
Debian 13 builds qemu without them.) There is no clock in there, so no ratio of times is known. A ratio of instructions
says less: it knows neither how many of them the CPU does at once nor what memory costs.

bench/STEM/icount_MACHINE.toml lists shapes, each with a floor: upstream's better variant must take at least so many
times the instructions of ours. A floor is a regression bound, below what was counted with gcc 12 and glibc 2.36, and
with gcc 14 and glibc 2.41. The count includes libc's part (memcpy, memmove, malloc), in glibc's version for the CPU
named below.
"""

import os
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from tools.common import environment, progress, results
from tools.common.matrix import with_cell

CALLS = 2  # as in emulated.c
# One instruction a block, by the name of qemu 7.2, and of 8.1 and later. Chained blocks are not logged.
ENVIRONMENT = os.environ | {"QEMU_SINGLESTEP": "1", "QEMU_ONE_INSN_PER_TB": "1"}
LOGGED = "exec,nochain"
CPU = {"aarch64": "neoverse-n1"}


class Floor(BaseModel):
    """The least ratio of upstream's instructions to ours on one shape of inputs."""

    model_config = ConfigDict(extra="forbid")

    shape: str
    at_least: float


class Subject(BaseModel):
    """A stem's icount_MACHINE.toml."""

    model_config = ConfigDict(extra="forbid")

    upstream: list[str]
    ours: str
    floor: list[Floor]


class Emulator:
    """Runs and counts a stem's calls."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self.programs = Path("build", machine, "icount")

    def lacking(self, stem: str) -> str:
        """Why nothing can be counted; empty if it can."""
        emulator, program = f"qemu-{self.machine}", self.programs / stem
        lacks = [emulator] * (shutil.which(emulator) is None) + [str(program)] * (not program.exists())
        return f"no {', '.join(lacks)} here: `make setup` installs what {self.machine} needs" if lacks else ""

    def count(self, stem: str, variant: str, shape: str) -> int:
        """Instructions of a call. ClickException: the program failed, or made other calls than it should."""
        command = [f"qemu-{self.machine}", "-cpu", CPU[self.machine], "-d", LOGGED]
        command += [str(self.programs / stem), variant, *shape.split()]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENVIRONMENT) as run:
            assert run.stderr is not None
            calls, counted, last = between_marks(run.stderr)
        if run.returncode != 0 or calls != CALLS:
            raise click.ClickException(f"{' '.join(command)}: exit code {run.returncode}, {calls} calls: {last}")
        return round(counted / CALLS)


def between_marks(log: Iterable[bytes]) -> tuple[int, int, str]:
    """How often count_from() was followed by count_to(), how many instructions lie between them, and the last line.

    A line of the log is an instruction, and ends in the name of the function that it is in.
    """
    calls, counted, counting, line = 0, 0, False, b""
    for line in log:
        if line.endswith(b" count_from\n"):
            counting = True
        elif line.endswith(b" count_to\n"):
            calls, counting = calls + counting, False
        else:
            counted += counting
    return calls, counted, line.decode(errors="replace").strip()


def judge(floor: Floor, counts: dict[str, int], ours: str) -> dict[str, Any]:
    """One item of the result."""
    ratio = min(n for variant, n in counts.items() if variant != ours) / counts[ours]
    item = {"name": floor.shape, "instructions": counts, "ratio": round(ratio, 2), "at_least": floor.at_least}
    if ratio < floor.at_least:
        return item | {"status": "failed", "reason": f"{ratio:.2f} times, at least {floor.at_least} are the floor"}
    return item | {"status": "passed"}


def show(stem: str, subject: Subject, items: list[dict[str, Any]]) -> None:
    """A line a shape."""
    variants = [*subject.upstream, subject.ours]
    table = Table("shape", *variants, "upstream / ours", "floor", title=f"{stem}: instructions a call")
    for item in items:
        ratio = f"[red]{item['ratio']}[/]" if item["status"] == "failed" else str(item["ratio"])
        table.add_row(item["name"], *(str(item["instructions"][v]) for v in variants), ratio, str(item["at_least"]))
    progress.console().print(table)


@click.command()
@click.argument("machine")
@click.option("--stem", default="", help="Only this stem.")
def main(machine: str, stem: str) -> None:
    """Count the instructions of MACHINE's kernels, and hold them against upstream's (1 minute)."""
    emulator, failed = Emulator(machine), []
    for row in with_cell(f"bench/{{stem}}/icount_{machine}.toml", stem):
        start, reason = time.monotonic(), emulator.lacking(row)
        subject = Subject.model_validate(tomllib.loads(Path(f"bench/{row}/icount_{machine}.toml").read_text()))
        if reason:
            items = [{"name": floor.shape, "status": "skipped", "reason": reason} for floor in subject.floor]
            names = ", ".join(floor.shape for floor in subject.floor)
            progress.console().print(f"SKIPPED {row}: {names}: {reason}", markup=False, soft_wrap=True)
            says = reason
        else:
            items = []
            for floor in subject.floor:
                variants = [*subject.upstream, subject.ours]
                counts = {variant: emulator.count(row, variant, floor.shape) for variant in variants}
                items.append(judge(floor, counts, subject.ours))
            show(row, subject, items)
            below = [f"{row} {item['name']}: {item['reason']}" for item in items if item["status"] == "failed"]
            failed += below
            says = f"{len(items) - len(below)} of {len(items)} floors kept"
        tools = {"qemu": environment.first_line(f"qemu-{machine}", "--version"), "CPU": CPU[machine]}
        compiler = f"{machine}-linux-gnu-gcc"
        tools |= {compiler: environment.first_line(compiler, "-dumpfullversion")}
        layer = f"icount-{machine}"
        results.write(layer, row, items, says=says, tools=tools, seconds=time.monotonic() - start)
    if failed:
        raise click.ClickException("; ".join(failed))


if __name__ == "__main__":
    main()
