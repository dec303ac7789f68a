# SPDX-License-Identifier: PostgreSQL
"""Runs the tests of each stem on another machine's CPU, under qemu.

python -m tests.runners.cross MACHINE --cflags FLAGS --traced STEMS [--stem STEM]

`make test-cross` has built the programs in build/MACHINE. Of each stem run: the
fuzz target on random inputs, whose tally must reach all that it is meant to reach; the threads of tsan.c; of stems with
kernels that only this machine has, the Python tests, by that machine's own Python and binding, and each access to
memory, which this machine's Python holds against the extracted proofs (tests/common/operations.py), as it does what
their scans find.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from tools.common import environment, results
from tools.common.kernels import kernel_sources
from tools.common.matrix import with_cell
from tools.common.progress import console
from tools.common.tally import tally, words

INPUTS = (3_000, 30_000)
"""Of each fuzz target; the second, if the first have not given each answer, or have not told a change."""
ROUNDS = 300
"""Of the threads: each takes hundreds of times longer than by itself."""
GENERIC = [
    f"tests/test_dispatch.py::test_{name}"
    for name in (
        "each_row_asks_for_the_level_that_its_file_is_compiled_for",
        "a_level_hides_what_lies_above_it",
        "a_named_variant_runs_or_is_refused",
        "an_unknown_level_is_refused",
    )
]
"""Tests of all kernels, beside those of the stems; of all these run a sample (tests/conftest.py)."""
OPERATIONS = ("test_operations.py", "test_operations_neon.py", "test_scans_neon.py")
"""Of these files of a stem the tests whose names have `neon`."""
LIBRARIES = Path("/usr")
"""Debian's cross compiler has the machine's C library in a folder of its name in there."""


def ran(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=os.environ | variables)


@dataclass(frozen=True)
class Found:
    """What a step says of itself; `reason` is empty if it passed."""

    says: str
    reason: str = ""


@dataclass(frozen=True)
class Cross:
    """The other machine."""

    machine: str
    cflags: list[str]
    """Of programs without sanitizers."""

    @property
    def tools(self) -> Path:
        return Path("build/tools", self.machine)

    @property
    def compiler(self) -> str:
        return f"{self.machine}-linux-gnu-gcc"

    @property
    def emulator(self) -> list[str]:
        return [f"qemu-{self.machine}", "-L", str(LIBRARIES / f"{self.machine}-linux-gnu")]

    def lacking(self) -> str:
        """Why nothing can run; empty if it can."""
        lacks = [tool for tool in (self.compiler, f"qemu-{self.machine}") if shutil.which(tool) is None]
        lacks += [str(path) for path in (self.tools / "python",) if not path.exists()]
        return f"no {', '.join(lacks)} here: `make setup` installs what {self.machine} needs" if lacks else ""

    def run(self, kind: str, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One of its programs."""
        return ran([*self.emulator, f"build/{self.machine}/{kind}/{name}", *arguments])

    def judged(self, program: Path, n: int) -> subprocess.CompletedProcess[str]:
        """A fuzz target on n random inputs."""
        return ran([*self.emulator, str(program), str(n)])

    def inputs(self, stem: str) -> Found:
        """The fuzz target judges each input; each answer must have come."""
        for n in INPUTS:
            done = self.judged(Path("build", self.machine, "inputs", stem), n)
            counts = tally(done.stderr)
            if done.returncode != 0 or not counts:
                return Found("", f"exit code {done.returncode}: {done.stderr[-500:]}")
            if all(counts.values()):
                return Found(f"{n:,} inputs")
        return Found("", f"no input gave {', '.join(name for name, n in counts.items() if n == 0)}")

    def threads(self, stem: str) -> Found:
        """Threads that read and write at once."""
        done = self.run("threads", stem, str(ROUNDS))
        counts = tally(done.stdout + done.stderr)
        missed = ", ".join(name for name, n in counts.items() if n == 0)
        if done.returncode != 0 or not counts or missed:
            return Found("", f"exit code {done.returncode}; none: {missed or '-'}: {done.stderr[-500:]}")
        return Found(words(counts))

    def python(self, stems: Sequence[str], further: Sequence[str]) -> str:
        """The tests of these rows' kernels, in one process, since its start is slow: what it printed last if it failed.
        conftest.py writes the results, a layer of their own."""
        paths = [".", "csrc/ffi", f"build/{self.machine}/ffi", str(self.tools / "site")]
        tests = [str(path) for stem in stems for path in sorted(Path("tests", stem).glob("test_kernels*.py"))]
        command = [str(self.tools / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        done = ran(
            [*command, "-o", f"pythonpath={' '.join(paths[:-1])}", *tests, *further],
            PYTHONPATH=os.pathsep.join(paths),
            PYTHONPYCACHEPREFIX=f"build/{self.machine}/pycache",
            PGQUERN_PROFILE="cross",
            PGQUERN_RESULT=f"test-{self.machine}",
        )
        return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-500:]

    def operations(self, stem: str) -> Found:
        """What its own kernels do to memory is what the extracted proofs do; of that all tests, by this Python."""
        files = [str(path) for name in OPERATIONS if (path := Path("tests", stem, name)).exists()]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", "neon"]
        done = ran(command, PGQUERN_TRACED=self.machine, PGQUERN_RESULT="")
        counted = re.search(rf"^{stem}: (.*) in [\d.]+ s$", done.stdout, re.MULTILINE)
        if done.returncode != 0 or "skipped" in done.stdout or counted is None:
            return Found("", f"exit code {done.returncode}: {done.stdout[-3000:]}{done.stderr[-500:]}")
        return Found(counted[1])


def has_its_own(stem: str, machine: str) -> bool:
    """Whether a stem has kernels for this CPU. The C of the others is the same; threads and inputs run it there."""
    return kernel_sources(stem, machine) != kernel_sources(stem, "any")


def steps(cross: Cross, stem: str, traced: Sequence[str]) -> list[tuple[str, Callable[[], Found]]]:
    """What runs of a stem, by name. Of those traced: their accesses, too."""
    found: list[tuple[str, Callable[[], Found]]] = []
    if with_cell("tests/{stem}/tsan.c", stem):
        found.append((f"threads {stem}", partial(cross.threads, stem)))
    if with_cell("tests/{stem}/fuzz.c", stem):
        found.append((f"inputs {stem}", partial(cross.inputs, stem)))
    if stem in traced:
        found.append((f"operations {stem}", partial(cross.operations, stem)))
    return found


def timed(name: str, step: Callable[[], Found]) -> tuple[dict[str, Any], str]:
    """A step's item, and what it says."""
    start = time.monotonic()
    found = step()
    seconds = round(time.monotonic() - start, 2)
    console().print(f"{name}: {found.reason or found.says} in {seconds:.0f} s", markup=False, soft_wrap=True)
    status = "failed" if found.reason else "passed"
    return {"name": name, "status": status, "seconds": seconds, "reason": found.reason}, found.says


@click.command()
@click.argument("machine")
@click.option("--cflags", required=True, help="Compiler flags of a program without sanitizers.")
@click.option("--traced", default="", help="The stems whose accesses to memory are known.")
@click.option("--stem", default="", help="Only this stem.")
def main(machine: str, cflags: str, traced: str, stem: str) -> None:
    """Run what each stem has for MACHINE, as many steps side by side as there are CPUs (3 minutes)."""
    cross = Cross(machine, shlex.split(cflags))
    rows = {row: steps(cross, row, traced.split()) for row in with_cell("tests/{stem}", stem)}
    reason = cross.lacking()
    tools = (
        {}
        if reason
        else {tool: environment.first_line(tool, "--version") for tool in (cross.compiler, f"qemu-{machine}")}
    )
    passed, cpus = True, len(os.sched_getaffinity(0))
    tested = [row for row in with_cell("tests/{stem}/test_kernels*.py", stem) if has_its_own(row, machine)]
    with ThreadPoolExecutor(cpus) as pool:
        groups = [group for n in range(cpus) if (group := tested[n::cpus]) and not reason]
        python = [pool.submit(cross.python, group, [] if n else GENERIC) for n, group in enumerate(groups)]
        told = [("Python tests of " + ", ".join(group), future) for group, future in zip(groups, python, strict=True)]
        running = {
            row: [pool.submit(timed, *step) for step in row_steps] for row, row_steps in rows.items() if not reason
        }
        for row, row_steps in rows.items():
            if reason:
                items = [{"name": name, "status": "skipped", "reason": reason} for name, _ in row_steps]
                says = reason
            else:
                done = [future.result() for future in running[row]]
                items, says = [item for item, _ in done], "; ".join(words for _, words in done)
            results.write("cross", row, items, says=says, tools=tools)
            passed = passed and not any(item["status"] == "failed" for item in items)
        for name, future in told:
            if failure := future.result():
                passed = False
                console().print(failure, markup=False)
            console().print(f"{name}: {'failed' if failure else 'passed'}", soft_wrap=True)
    if reason:
        names = ", ".join(name for row_steps in rows.values() for name, _ in row_steps)
        console().print(f"SKIPPED {names}: {reason}", markup=False, soft_wrap=True)
    raise SystemExit(not passed)


if __name__ == "__main__":
    main()
