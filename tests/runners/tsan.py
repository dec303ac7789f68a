# SPDX-License-Identifier: PostgreSQL
"""Runs the threads of each stem.

python -m tests.runners.tsan --sanitized FLAGS --plain FLAGS [--stem STEM]

tests/<stem>/tsan.c is built twice: with ThreadSanitizer and the kernels in build/obj-tsan, to find data races, and with
the kernels as they are (build/obj), which gives many more looks at the answers. Both must find nothing. Their tallies
together must show that each thing they are for has happened. tests/changes/ asks the first one what it finds if one
thing is broken.
"""

import re
import resource
import shlex
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tools.common import environment, results, watch
from tools.common.kernels import kernel_sources
from tools.common.matrix import with_cell
from tools.common.progress import console
from tools.common.tally import tally, words

ROOT = Path("build/tsan")
SOURCES = Path("csrc")
OBJECTS, ROUNDS = Path("build/obj-tsan"), 2_000
PATIENCE = 10
"""A changed program ends at its first finding, so more rounds cost time only if there is none."""
NO_END = 1_200
"""CPU seconds, many times what all rounds take: a changed program that takes more is in an endless loop. The clock's
seconds would not do: a busy machine must not decide."""
ASLEEP = "no thread goes on"
FINDING = re.compile(r"(wrong answer)|(?:WARNING|ERROR): ThreadSanitizer: (.+?) (?:\(|on )")
"""How the program and ThreadSanitizer report a finding: a data race, a mutex that is unlocked twice, a crash."""
# If addresses are randomized by more than 28 bits, ThreadSanitizer cannot get the addresses that it needs.
FIXED_ADDRESSES = ["setarch", "--addr-no-randomize"]


@dataclass(frozen=True)
class Build:
    """One of the two: its rounds, the kernels' objects, the flags that these were compiled with."""

    name: str
    rounds: int
    objects: Path
    cflags: list[str]
    sanitized: bool
    """ThreadSanitizer has a thread of its own, which wakes ten times a second."""

    def make(self, folder: Path, program: Path, kernel: Path | None) -> Path:
        """The program; `kernel` is built from under `folder` in place of its object, or, if it is a header, whatever
        includes it: none of these has flags of its own."""
        kernels = {source: self.objects / source.relative_to(SOURCES).with_suffix(".o") for source in kernel_sources()}
        inputs = [program]
        for source, built in kernels.items():
            includes = kernel is not None and str(kernel) in built.with_suffix(".d").read_text().split()
            inputs.append(folder / source if source == kernel else source if includes else built)
        folder.mkdir(parents=True, exist_ok=True)
        # A change may leave names unused: that is no error.
        command = ["clang", f"-I{folder / SOURCES}", *self.cflags, "-w", *map(str, inputs), "-pthread"]
        subprocess.run([*command, "-o", str(folder / self.name)], check=True)
        return folder / self.name

    def run(self, program: Path, cpu: int = resource.RLIM_INFINITY, patience: int = 1) -> tuple[int, bool, str]:
        """As watch.run. cpu: seconds after which SIGXCPU ends it."""
        fixed = subprocess.run([*FIXED_ADDRESSES, "true"], capture_output=True).returncode == 0
        command = [*(FIXED_ADDRESSES if fixed else []), str(program), str(self.rounds * patience)]
        variables = {"TSAN_OPTIONS": "halt_on_error=1"}
        log = program.with_name(f"{self.name}.log")
        return watch.run(command, log, variables, partial(limit_cpu, cpu), int(self.sanitized))


def limit_cpu(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def item(name: str, start: float, passed: bool, found: str, output: str) -> dict[str, Any]:
    """One run, for the results."""
    reason = "" if passed else f"found {found or 'nothing'}: {output[-3000:]}"
    seconds = round(time.monotonic() - start, 2)
    return {
        "name": name,
        "status": "passed" if passed else "failed",
        "seconds": seconds,
        "reason": reason,
        "found": found,
    }


def unchanged(stem: str, build: Build) -> tuple[dict[str, Any], dict[str, int]]:
    """The program as it is must find nothing: the item, and its tally."""
    start = time.monotonic()
    program = build.make(ROOT / stem, Path("tests", stem, "tsan.c"), None)
    code, slept, output = build.run(program)
    counts = tally(output)
    found = ASLEEP if slept else words(counts)
    return item(f"unchanged, {build.name}", start, code == 0 and bool(counts), found, output), counts


def includes(program: Path, file: Path, cflags: list[str]) -> bool:
    """Whether the program itself has a header's functions: their change may show there, beside unchanged kernels."""
    listed = subprocess.run(["clang", *cflags, "-MM", str(program)], capture_output=True, text=True, check=True).stdout
    return str(file) in listed.split()


def finding(code: int, slept: bool, output: str) -> str:
    """What a program that ended with `code` found; "" if nothing."""
    if code and (reported := FINDING.search(output)):
        return reported[1] or reported[2]
    if slept:
        return ASLEEP
    if code < 0:
        return "no end" if code == -signal.SIGXCPU else f"killed by signal {-code}"
    return ""


def judge(stem: str, sanitized: Build, plain: Build) -> bool:
    """Run all of a stem, write and print the result; whether it passed."""
    items, seen = [], Counter[str]()
    for build in (sanitized, plain):
        ran, counts = unchanged(stem, build)
        items.append(ran)
        seen.update(counts)
    if never := [what for what, n in seen.items() if n == 0]:
        items[-1] |= {"status": "failed", "reason": f"{', '.join(never)}: none, so it does not do what it is for"}
    table = Table("run", "found", "s", title=f"{stem}: threads", title_justify="left")
    for ran in items:
        found = ran["found"] if ran["status"] == "passed" else f"[red]{ran['reason']}"
        table.add_row(ran["name"], found, f"{ran['seconds']:.1f}")
    console().print(table)
    says = words(seen)
    results.write("tsan", stem, items, says=says, tools={"clang": environment.first_line("clang", "--version")})
    console().print(f"tsan {stem}: {says}", soft_wrap=True)
    return all(ran["status"] == "passed" for ran in items)


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--sanitized", required=True, help="flags of build/obj-tsan")
@click.option("--plain", required=True, help="flags of build/obj")
def main(stem: str, sanitized: str, plain: str) -> None:
    """Run the threads of each stem that has some (15 s a stem)."""
    first = Build("sanitized", ROUNDS, OBJECTS, shlex.split(sanitized), True)
    second = Build("plain", 10_000, Path("build/obj"), shlex.split(plain), False)
    passed = [judge(name, first, second) for name in with_cell("tests/{stem}/tsan.c", stem)]
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main()
