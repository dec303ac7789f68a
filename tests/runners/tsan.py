# SPDX-License-Identifier: PostgreSQL
"""Runs a stem's threads, then runs them with one thing broken at a time.

python -m tests.runners.tsan STEM --sanitized FLAGS --plain FLAGS

tests/<stem>/tsan.c is built twice: with ThreadSanitizer and the kernels in build/obj-tsan, to find data races, and
with the kernels as they are (build/obj), which gives many more looks at the answers. Both must find nothing, and their
tallies together show that each thing they are for has happened. For each entry of tests/<stem>/tsan.toml the first one
must find something.
"""

import os
import re
import shlex
import subprocess
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tests import results

ROOT = Path("build/tsan")
TIMEOUT = 60
FINDINGS = ("data race", "wrong answer")
"""As ThreadSanitizer and the program say it."""
# Where addresses are randomized by more than 28 bits, ThreadSanitizer finds its own taken.
FIXED_ADDRESSES = ["setarch", "--addr-no-randomize"]


@dataclass(frozen=True)
class Build:
    """One of the two: its rounds, the kernels' objects, the flags that these were compiled with."""

    name: str
    rounds: int
    objects: Path
    cflags: list[str]

    def make(self, folder: Path, program: Path, kernel: Path | None) -> Path:
        """The program; `kernel`, one without flags of its own, is built from under `folder` in place of its object."""
        sources, objects = [program], {str(o.relative_to(self.objects)): o for o in self.objects.rglob("*.o")}
        if kernel is not None:
            del objects[str(kernel.relative_to("csrc").with_suffix(".o"))]
            sources.append(folder / kernel)
        folder.mkdir(parents=True, exist_ok=True)
        # What is broken may leave things unused: no error.
        command = ["clang", *self.cflags, "-D_GNU_SOURCE", "-w", *map(str, [*sources, *objects.values()])]
        subprocess.run([*command, "-pthread", "-o", str(folder / self.name)], check=True)
        return folder / self.name

    def run(self, program: Path, patience: int = 1) -> tuple[int | None, str]:
        """Exit code, None if there was no end in time, and output."""
        fixed = subprocess.run([*FIXED_ADDRESSES, "true"], capture_output=True).returncode == 0
        command = [*(FIXED_ADDRESSES if fixed else []), str(program), str(self.rounds * patience)]
        environment = os.environ | {"TSAN_OPTIONS": "halt_on_error=1"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return None, f"no end after {TIMEOUT} s"
        return done.returncode, done.stdout + done.stderr


@dataclass(frozen=True)
class Mutant:
    """One change: `old`, which occurs once in `file`, becomes `new`."""

    name: str
    file: str
    old: str
    new: str

    def make(self, build: Build, program: Path) -> Path:
        text = Path(self.file).read_text()
        if text.count(self.old) != 1:
            raise click.ClickException(
                f"{self.name}: {self.file} holds its line {text.count(self.old)} times, not once"
            )
        changed = ROOT / self.name / self.file
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(text.replace(self.old, self.new))
        if Path(self.file) == program:
            return build.make(ROOT / self.name, changed, None)
        return build.make(ROOT / self.name, program, Path(self.file))


def tally(output: str) -> dict[str, int]:
    line = re.search(r"^tally:(.*)$", output, re.MULTILINE)
    return {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", line[1])} if line else {}


@click.command()
@click.argument("stem")
@click.option("--sanitized", required=True, help="flags of build/obj-tsan")
@click.option("--plain", required=True, help="flags of build/obj")
def main(stem: str, sanitized: str, plain: str) -> None:
    """Run the threads of one stem (15 s)."""
    program = Path(f"tests/{stem}/tsan.c")
    first = Build("sanitized", 2_000, Path("build/obj-tsan"), shlex.split(sanitized))
    second = Build("plain", 10_000, Path("build/obj"), shlex.split(plain))
    mutants = [Mutant(**entry) for entry in tomllib.loads(Path(f"tests/{stem}/tsan.toml").read_text())["mutant"]]
    items: list[dict[str, Any]] = []
    table = Table("run", "found", "seconds", title=f"{stem}: threads")

    def note(name: str, start: float, passed: bool, found: str, output: str) -> None:
        seconds = time.monotonic() - start
        table.add_row(name, found if passed else f"[red]{found}[/]", f"{seconds:.1f}")
        item = {"stem": stem, "name": name, "status": "passed" if passed else "failed", "seconds": round(seconds, 2)}
        items.append(item | ({} if passed else {"output": output[-3000:]}))

    seen: Counter[str] = Counter()
    for build in (first, second):
        start = time.monotonic()
        code, output = build.run(build.make(ROOT, program, None))
        counts = tally(output)
        seen.update(counts)
        told = ", ".join(f"{n:,} {what}" for what, n in counts.items())
        note(f"unchanged, {build.name}", start, code == 0 and bool(counts), told, output)
    caught = 0
    for mutant in mutants:
        start = time.monotonic()
        # It ends with what it finds first: more rounds cost nothing, but to one that survives.
        code, output = first.run(mutant.make(first, program), patience=10)
        found = next((finding for finding in FINDINGS if code and finding in output), None)
        caught += found is not None
        note(mutant.name, start, found is not None, found or "nothing", output)
    Console(width=120).print(table)
    of_mutants = f"{caught} of {len(mutants)} mutants caught"
    says = f"{seen['answers']:,} answers to readers, {seen['meanwhile']:,} during an addition, {of_mutants}"
    results.write("tsan", items, {stem: says}, {"clang": results.first_line("clang", "--version")})
    failed = [item for item in items if item["status"] == "failed"]
    for item in failed:
        click.echo(f"---- {item['name']}\n{item['output']}", err=True)
    if never := [what for what, n in seen.items() if n == 0]:
        raise click.ClickException(f"{stem}: {', '.join(never)}: none, so the program does not do what it is for")
    if failed:
        raise click.ClickException(f"{stem}: {', '.join(str(item['name']) for item in failed)}")
    click.echo(f"tsan {stem}: passed in {sum(item['seconds'] for item in items):.0f} s. {says}")


if __name__ == "__main__":
    main()
