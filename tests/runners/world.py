# SPDX-License-Identifier: PostgreSQL
"""Runs the worlds of each stem that has any, tests/<stem>/world.c and tests/<stem>/<name>_world.c, for many seeds.

python -m tests.runners.world [--stem STEM] [--runs N] [--states N] [--minutes M] [--seed SEED]
    [--world NAME --from FIRST]

The seeds are 0 to N - 1, and those in tests/<stem>/seeds.txt (<name>_seeds.txt), a number a line, which once found
something. A world whose runs are heavy says so, `const unsigned world_weight = 4;`: it gets a quarter of the seeds.
More seeds follow until the world has judged N states, one after each step of a run, and until M minutes have passed.
The program judges each run itself, and prints `tally: NAME=N ...`: a count of 0 fails the stem, since it then no longer
reaches what it is for. It also prints how the calls of the disks ended, by their callers: if all RUNS seeds ran, each
source line that asks for I/O must have seen each fault that the world has, if the world says that it tries all lines.
A shard (--from) runs N seeds of one world, from FIRST on or those of the file, and only looks for violations; what all
seeds must have counted is judged where the shards are joined.
"""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click

from tests.runners import calls
from tools.common import environment, results, shards
from tools.common.matrix import with_cell
from tools.common.progress import bar, console
from tools.common.tally import tally, words

RUNS = 1_000
PART = 100
"""Seeds that one process runs: a part ends within seconds, so there is progress to show."""
WAVE = 8
"""Parts that follow at a time, as long as there are too few states or there is time left."""


KEPT = "kept"
"""In place of a shard's first seed: those of the file."""


@dataclass(frozen=True)
class Aim:
    """How much each world does: all of these."""

    runs: int
    states: int = 0
    minutes: float = 0

    def reached(self, states: int, seconds: float) -> bool:
        return states >= self.states and seconds >= 60 * self.minutes


def program(source: Path) -> str:
    """The name of a world, and of its program: that of its stem, and its own if it has one."""
    return "_".join([source.parent.name, *source.stem.split("_")[:-1]])


def weight(source: Path) -> int:
    """How many times heavier a run is than those of other worlds."""
    said = re.search(r"^const unsigned world_weight = (\d+);", source.read_text(), re.MULTILINE)
    return int(said[1]) if said else 1


def tries_all_lines(source: Path) -> bool:
    """Whether each line that asks for I/O must see each fault that the world has."""
    return "\nconst bool world_tries_all_lines = true;" in source.read_text()


def kept(source: Path) -> list[int]:
    """The seeds that once found something."""
    file = source.with_name(source.name.replace("world.c", "seeds.txt"))
    lines = file.read_text().splitlines() if file.exists() else []
    return [int(line.split("#")[0]) for line in lines if line.split("#")[0].strip()]


def run(name: str, part: range) -> tuple[Counter[str], Counter[tuple[calls.Chain, str]], str]:
    """The counts of these seeds, those of their I/O, and what was found; empty if nothing."""
    done = subprocess.run(
        [f"build/world/{name}", str(part.start), str(len(part))], capture_output=True, text=True, errors="replace"
    )
    counts = Counter(tally(done.stdout))
    found = "" if done.returncode == 0 and counts else f"{done.stderr}\nexit code {done.returncode}"
    return counts, calls.counted(done.stdout), found


def untried(lines: Sequence[calls.Line]) -> str:
    """The lines that ask for I/O, and never saw a fault that the world has."""
    faults = calls.applying(lines)
    lacking = [f"{line.line} ({line.what}: {', '.join(lacks)})" for line in lines if (lacks := line.lacks(faults))]
    return f"no run has tried {'; '.join(lacking)}" if lacking else ""


def waves(source: Path, aim: Aim) -> Iterator[list[range]]:
    """The seeds of a world, in parts: those that it always runs, and then more and more."""
    n = -(-aim.runs // weight(source))
    kept_parts = [range(seed, seed + 1) for seed in kept(source)]
    yield [range(first, min(first + PART, n)) for first in range(0, n, PART)] + kept_parts
    for first in count(n, WAVE * PART):
        yield [range(part, part + PART) for part in range(first, first + WAVE * PART, PART)]


def judge(source: Path, more: Iterator[list[range]], aim: Aim, *, whole: bool = True) -> tuple[dict[str, Any], str]:
    """Run seeds of a world up to the aim, and print what came of it: the item of the result, and what it says.

    whole: not a shard.
    """
    name, stem = program(source), source.parent.name
    start = time.monotonic()
    counts, chains, found, runs = Counter[str](), Counter[tuple[calls.Chain, str]](), "", 0
    screen = console(stderr=True)
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool, bar(screen) as progress:
        task = progress.add_task(f"world {name}", total=0)
        for parts in more:
            runs += sum(map(len, parts))
            progress.update(task, total=runs)
            for part, (counted, called, violation) in zip(parts, pool.map(partial(run, name), parts), strict=True):
                progress.advance(task, len(part))
                chains.update(called)
                for what, n in counted.items():
                    counts[what] += n
                found = found or violation
            if found or aim.reached(counts["states"], time.monotonic() - start):
                break
    lines = calls.lines_of(stem, Path("build/world", name), chains)
    reason = found or (lacking(source, runs, aim, counts, lines) if whole else "")
    if lines and runs > 1:
        console().print(calls.table(name, lines))
    if found:
        console().print("\n".join(found.splitlines()[-80:]), markup=False)
        told = [line for line in found.splitlines() if line.startswith("violation")] or found.splitlines()
        reason = told[-1] + f"; make world STEM={stem} SEED=N repeats it"
    return tell(name, reason, runs, counts, lines, time.monotonic() - start)


def lacking(source: Path, runs: int, aim: Aim, counts: Mapping[str, int], lines: Sequence[calls.Line]) -> str:
    """What all runs of a world must have counted or tried, and have not."""
    missed = [what for what, n in counts.items() if n == 0]
    if missed and runs > 1:
        return f"no run has counted {', '.join(missed)}"
    return untried(lines) if aim.runs >= RUNS and tries_all_lines(source) else ""


def tell(
    name: str, reason: str, runs: int, counts: Mapping[str, int], lines: Sequence[calls.Line], seconds: float
) -> tuple[dict[str, Any], str]:
    """Print what came of a world: the item of the result, and what it says."""
    summary = f"{runs:,} runs: {words(dict(counts))}"
    item: dict[str, Any] = {
        "name": f"world {name}",
        "status": "failed" if reason else "passed",
        "seconds": round(seconds, 2),
        "reason": reason,
        "runs": runs,
        "counts": dict(counts),
        "calls": [line.record() for line in lines],
    }
    console().print(f"world {name}: {reason or 'passed'}. {summary}", markup=False, soft_wrap=True)
    return item, summary


def judge_shard(stem: str, world: str, first: str, n: int) -> bool:
    """Run a part of a world's seeds, and write the result; whether it passed."""
    source = next((path for path in sources(stem) if program(path) == world), None)
    if source is None:
        raise click.ClickException(f"{stem} has no world {world}; it has {', '.join(map(program, sources(stem)))}")
    seeds = kept(source) if first == KEPT else range(int(first), int(first) + n)
    parts = [range(seed, seed + 1) for seed in seeds] if first == KEPT else [range(seeds[0], seeds[-1] + 1)]
    item, says = judge(source, iter([parts]), Aim(len(seeds)), whole=False)
    item["name"] += f" {first}"
    gcc = environment.first_line("gcc", "--version")
    results.write("world", stem, [item], says=says, tools={"gcc": gcc})
    return bool(item["status"] == "passed")


def list_shards(stem: str, aim: Aim) -> None:
    """Print the shards of a stem: the seeds of its worlds, in the parts in which they run here."""
    for source in sources(stem):
        name, parts = program(source), next(waves(source, aim))
        for part in parts[: len(parts) - len(kept(source))]:
            shards.say(stem, f"{name}-{part.start}", WORLD=name, FROM=part.start, WORLD_RUNS=len(part))
        if kept(source):
            shards.say(stem, f"{name}-{KEPT}", WORLD=name, FROM=KEPT)


def join(stem: str, folder: Path, aim: Aim) -> bool:
    """Make a stem's result of those of its shards; whether all passed, and together have tried what they must."""
    of = shards.load(folder)
    found = [item.model_dump() for shard in of for item in shard.items]
    items, says = [], []
    for source in sources(stem):
        mine = [item for item in found if item["name"].split()[1] == program(source)]
        counts, runs = Counter[str](), sum(item["runs"] for item in mine)
        for item in mine:
            for what, n in item["counts"].items():
                counts[what] += n
        lines = calls.joined([calls.Line(**line) for line in item["calls"]] for item in mine)
        reason = next((item["reason"] for item in mine if item["status"] == "failed"), "")
        reason = reason or lacking(source, runs, aim, counts, lines)
        item, line = tell(program(source), reason, runs, counts, lines, sum(item["seconds"] for item in mine))
        items.append(item)
        says.append(line)
    results.write("world", stem, items, says="; ".join(says), tools=shards.tools(of), of=of)
    return all(item["status"] == "passed" for item in items)


def sources(stem: str) -> list[Path]:
    """The worlds of a stem."""
    return sorted(Path("tests", stem).glob("*world.c"))


def judge_row(stem: str, aim: Aim, seed: int | None) -> bool:
    """Run the worlds of a stem, and write the result; whether it passed."""
    items, says = [], []
    for source in sources(stem):
        chosen = waves(source, aim) if seed is None else iter([[range(seed, seed + 1)]])
        item, line = judge(source, chosen, aim if seed is None else Aim(1))
        items.append(item)
        says.append(line)
    gcc = environment.first_line("gcc", "--version")
    results.write("world", stem, items, says="; ".join(says), tools={"gcc": gcc})
    return all(item["status"] == "passed" for item in items)


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--runs", default=RUNS, show_default=True, help="Seeds of each world, at the least.")
@click.option("--states", default=0, help="More seeds, until each world has judged so many states.")
@click.option("--minutes", default=0.0, help="More seeds, until each world has run for so long.")
@click.option("--seed", type=int, help="Only this seed.")
@click.option("--world", default="", help="Of this world only, a shard.")
@click.option("--from", "first", default="0", help=f"The shard's first seed; {KEPT}: the seeds of the file.")
@click.option("--list", "lists", is_flag=True, help="Print the shards, and run nothing.")
@click.option("--join", "folder", type=click.Path(path_type=Path), help="Make one result of a stem's shards.")
def main(
    stem: str,
    runs: int,
    states: int,
    minutes: float,
    seed: int | None,
    world: str,
    first: str,
    lists: bool,
    folder: Path | None,
) -> None:
    """Run the worlds of each stem that has any."""
    aim = Aim(runs, states, minutes)
    if world:
        raise SystemExit(not judge_shard(stem, world, first, runs))
    if folder:
        raise SystemExit(not join(stem, folder, aim))
    if lists:
        for name in with_cell("tests/{stem}/*world.c", stem):
            list_shards(name, aim)
        return
    passed = [judge_row(name, aim, seed) for name in with_cell("tests/{stem}/*world.c", stem)]
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main()
