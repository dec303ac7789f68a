# SPDX-License-Identifier: PostgreSQL
"""The engine's cold random reads beside those of fio, at the same depth, on the same file.

python -m bench.prefetch.fio [--rounds N]

In each round the engine runs once for each window, and then fio with io_uring and O_DIRECT at that depth. A ratio is
how often as fast as fio a variant is, in the same round; 0.95 is what we aim at for uring_direct. fio reads no page: it
uses none, and so does nothing beside its reads. Nothing is judged here; `make bench-figures` keeps what was measured.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from bench.measure import list_configs, measure
from tools.common import results
from tools.common.environment import pin
from tools.common.progress import console

BINARY = Path("build/bench/prefetch/bench")
FILE = Path("build/bench/prefetch/blocks-256M")
READS = 4096
WINDOWS = (1, 4, 16, 64, 256)
Item = dict[str, Any]


def fio(depth: int) -> float:
    """Nanoseconds a read, of random blocks of 8 KiB."""
    options = {"name": "cold", "filename": FILE, "rw": "randread", "bs": "8k", "direct": 1, "iodepth": depth}
    options |= {"ioengine": "io_uring", "number_ios": READS, "size": "256m", "readonly": "", "output-format": "json"}
    command = ["fio", *(f"--{name}={value}" if value != "" else f"--{name}" for name, value in options.items())]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        subprocess.run([*command, f"--output={out}"], check=True)
        read = json.loads(out.read_text())["jobs"][0]["read"]
    return 1e9 / float(read["iops"])


def engine(window: int) -> dict[str, float]:
    """Nanoseconds a block of each variant, in one round."""
    wanted = [
        (config, pattern)
        for config, pattern in list_configs(BINARY)
        if (config["kind"], config.get("mib"), config.get("window")) == ("cold", "256", str(window))
    ]
    ((_, times),) = measure(BINARY, wanted, runs=1, rounds=lambda _: 1, done=lambda _: None)
    return {variant: float(np.median(found)) for variant, found in times.items()}


def beside(window: int, pairs: list[tuple[dict[str, float], float]]) -> list[Item]:
    """uring_direct beside fio, and the best variant if that is another one. pairs: of each round, ours and fio's."""
    theirs = [ns for _, ns in pairs]
    best = min(pairs[0][0], key=lambda v: float(np.median([times[v] for times, _ in pairs])))
    items = []
    for variant in dict.fromkeys(("uring_direct", best)):
        ours = [times[variant] for times, _ in pairs]
        by_round = [b / a for a, b in zip(ours, theirs, strict=True)]
        items.append({
            "name": f"window {window}, {variant}", "status": "passed", "window": window, "variant": variant,
            "ns": float(np.median(ours)), "fio_ns": float(np.median(theirs)), "times": float(np.median(by_round)),
            "by_round": by_round,
        })  # fmt: skip
    return items


def version() -> str:
    return subprocess.run(["fio", "--version"], check=True, capture_output=True, text=True).stdout.strip()


@click.command()
@click.option("--rounds", default=3, show_default=True)
def main(rounds: int) -> None:
    """Print a table: uring_direct of each window beside fio, and the best variant if that is another one."""
    started = time.monotonic()
    pin()
    items: list[Item] = []
    for window in WINDOWS:
        items += beside(window, [(engine(window), fio(window)) for _ in range(rounds)])
    table = Table("window", "fio, ns", "variant", "ns", "times as fast as fio, by round")
    for item in items:
        ratios = ", ".join(f"{ratio:.2f}" for ratio in item["by_round"])
        table.add_row(str(item["window"]), f"{item['fio_ns']:,.0f}", item["variant"], f"{item['ns']:,.0f}", ratios)
    console().print(table)
    results.write(
        "fio", "prefetch", items, says="the engine's cold random reads beside fio's", tools={"fio": version()},
        seconds=time.monotonic() - started, rounds=rounds,
    )  # fmt: skip


if __name__ == "__main__":
    main()
