# SPDX-License-Identifier: PostgreSQL
"""Runs the libFuzzer target of a stem: random seeds, a fixed random state, and a look at what was reached.

python -m tests.runners.fuzz STEM [--runs N]

The target judges each input itself and prints a tally by answer at the end. A run that missed an answer in EXPECTED did
not go deep enough and fails, so that a target that stopped reaching the kernels is noticed.
"""

import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from tests import results

SEED = 19
SEED_FILES = 200
MAX_LEN = 8193
CRASHES = Path("build/fuzz/crashes")

# The answers (codes of csrc/pgquern.h) that a stem's target must have seen; without an entry, any will do.
EXPECTED: dict[str, dict[int, str]] = {
    "compaction": {
        0: "repaired",
        3: "HEADER",
        4: "LP_OFF",
        5: "LP_ALIGN",
        6: "LP_END",
        7: "TOO_MANY",
        8: "TOTAL",
        9: "OVERLAP",
    },
    "snapbuild": {0: "done", 20: "XID_PERMANENT", 21: "UNSORTED", 22: "CAPACITY", 23: "DUPLICATE"},
}


def write_seeds(folder: Path) -> None:
    """Files of random bytes, half of them short: the target makes a page of whatever it gets."""
    rng = random.Random(SEED)
    for n in range(SEED_FILES):
        size = rng.randrange(4, 400) if n % 4 else MAX_LEN
        (folder / f"seed-{n:03}").write_bytes(rng.randbytes(size))


def tally(log: str) -> dict[int, int]:
    """Answers by code, from the target's last words."""
    line = re.search(r"^tally:(.*)$", log, re.MULTILINE)
    return {int(code): int(n) for code, n in re.findall(r"(\d+)=([1-9]\d*)", line[1])} if line else {}


@click.command()
@click.argument("stem")
@click.option("--runs", default=100_000, show_default=True, help="executions")
def main(stem: str, runs: int) -> None:
    """Fuzz one stem (100,000 executions: 10 to 30 s)."""
    console = Console()
    CRASHES.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as corpus, console.status(f"fuzzing {stem}: {runs:,} executions (30 s)"):
        write_seeds(Path(corpus))
        done = subprocess.run(
            [
                f"build/fuzz/{stem}",
                f"-runs={runs}",
                f"-seed={SEED}",
                f"-max_len={MAX_LEN}",
                "-print_final_stats=1",
                f"-artifact_prefix={CRASHES}/{stem}-",
                corpus,
            ],
            capture_output=True,
            text=True,
        )
    seconds = time.monotonic() - start
    answers = tally(done.stderr)
    executed = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    missed = [name for code, name in EXPECTED.get(stem, {}).items() if code not in answers]
    passed = done.returncode == 0 and executed is not None and not missed
    names = EXPECTED.get(stem, {})
    says = f"{int(executed[1]) if executed else 0:,} inputs: " + ", ".join(
        f"{n:,} {names.get(code, f'code {code}')}" for code, n in answers.items()
    )
    item = {
        "stem": stem,
        "name": f"fuzz_{stem}",
        "status": "passed" if passed else "failed",
        "seconds": round(seconds, 2),
        "answers": answers,
    }
    results.write("fuzz", [item], {stem: says}, {"clang": results.first_line("clang", "--version")})
    if done.returncode != 0:
        sys.stderr.write("\n".join(done.stderr.splitlines()[-60:]) + "\n")
        raise click.ClickException(f"{stem}: the input that failed is in {CRASHES}; give it to build/fuzz/{stem}")
    if missed:
        raise click.ClickException(f"{stem}: no input gave {', '.join(missed)}: the target does not go deep enough")
    console.print(f"fuzz {stem}: [green]passed[/] in {seconds:.0f} s. {says}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
