# SPDX-License-Identifier: PostgreSQL
"""Runs the libFuzzer target of each stem: random seeds, a fixed random state, and a look at what was reached.

python -m tests.runners.fuzz [--stem STEM] [--runs N]

The target judges each input itself. At the end it prints `tally: NAME=N ...`: how many inputs got each answer that it
is meant to reach. A count of 0 fails the run: a target that no longer reaches the kernels is noticed. libFuzzer looks
at addresses, too, so what it finds seldom it may not find today.

Leaks are looked for, and fail the run. Where LeakSanitizer may not stop threads (it needs ptrace), the target runs
without that look, and `leaks STEM` is reported as SKIPPED.
"""

import os
import random
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import sched_getaffinity
from pathlib import Path

import click

from tests.common.leaks import NO_PTRACE, UNABLE
from tools.common import environment, results, shards
from tools.common.matrix import with_cell
from tools.common.progress import console
from tools.common.tally import tally, words

SEED = 19
SEED_FILES = 200
MAX_LEN = 8193
MORE = 8
"""Times as many inputs where the first have not given each answer."""
LEAK = "LeakSanitizer: detected memory leaks"
CRASHES = Path("build/fuzz/crashes")


def write_seeds(folder: Path) -> None:
    """Files of random bytes, half of them short: the target accepts any bytes as input."""
    rng = random.Random(SEED)
    for n in range(SEED_FILES):
        size = rng.randrange(4, 400) if n % 4 else MAX_LEN
        (folder / f"seed-{n:03}").write_bytes(rng.randbytes(size))


def fuzz(runs: int, target: Path, *, leaks: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a target; its tally and messages are in stderr."""
    look = f"detect_leaks={int(leaks)}"
    with tempfile.TemporaryDirectory() as corpus:
        write_seeds(Path(corpus))
        options = [f"-runs={runs}", f"-seed={SEED}", f"-max_len={MAX_LEN}", "-print_final_stats=1", f"-{look}"]
        command = [str(target), *options, f"-artifact_prefix={CRASHES}/{target.name}-", corpus]
        environment = os.environ | {"ASAN_OPTIONS": look}
        return subprocess.run(command, capture_output=True, text=True, env=environment)


def fuzz_deep(runs: int, target: Path, *, leaks: bool = True) -> subprocess.CompletedProcess[str]:
    """As fuzz(); if an answer was never given, once more with MORE times the inputs: what a few reach is chance."""
    done = fuzz(runs, target, leaks=leaks)
    if done.returncode == 0 and 0 in tally(done.stderr).values():
        done = fuzz(MORE * runs, target, leaks=leaks)
    return done


def judge(runs: int, stem: str) -> bool:
    """Fuzz one stem, write and print its result; whether it passed."""
    start = time.monotonic()
    target = Path("build/fuzz", stem)
    done = fuzz_deep(runs, target)
    if blind := UNABLE in done.stderr:
        done = fuzz_deep(runs, target, leaks=False)
    seconds = round(time.monotonic() - start, 2)
    answers = tally(done.stderr)
    executed = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    missed = [name for name, n in answers.items() if n == 0]
    reason = ""
    if LEAK in done.stderr:
        reason = f"memory is leaked; the input is in {CRASHES}"
    elif done.returncode != 0:
        reason = f"the input that failed is in {CRASHES}; give it to build/fuzz/{stem}"
    elif executed is None or not answers:
        reason = "the target printed no tally"
    elif missed:
        reason = f"no input gave {', '.join(missed)}: the target does not go deep enough"
    says = f"{int(executed[1]) if executed else 0:,} inputs: {words(answers)}"
    item = {"name": f"fuzz {stem}", "status": "failed" if reason else "passed", "seconds": seconds}
    clang = environment.first_line("clang", "--version")
    items = [item | {"reason": reason, "answers": answers}]
    if blind:
        items.append({"name": f"leaks {stem}", "status": "skipped", "seconds": 0.0, "reason": NO_PTRACE})
    results.write("fuzz", stem, items, says=says, tools={"clang": clang})
    if reason:
        console().print("\n".join(done.stderr.splitlines()[-60:]), markup=False)
    if blind:
        console().print(f"SKIPPED leaks {stem}: {NO_PTRACE}", markup=False, soft_wrap=True)
    console().print(f"fuzz {stem}: {reason or 'passed'} in {seconds:.0f} s. {says}", markup=False, soft_wrap=True)
    return not reason


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--runs", default=100_000, show_default=True, help="Executions for each stem.")
@click.option("--list", "lists", is_flag=True, help="Print the stems, a shard each, and fuzz none.")
def main(stem: str, runs: int, lists: bool) -> None:
    """Fuzz each stem that has a target, as many at a time as there are CPUs."""
    if lists:
        for name in with_cell("tests/{stem}/fuzz.c", stem):
            shards.say(name, "all", FUZZ_RUNS=runs)
        return
    CRASHES.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        passed = list(pool.map(partial(judge, runs), with_cell("tests/{stem}/fuzz.c", stem)))
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main()
