# SPDX-License-Identifier: PostgreSQL
"""How far is each eviction policy from the best, at each size of the cache and on each trace? Counted, no clock.

    python -m bench.tiercache.policies [--traces FOLDER]      (20 s)

Eight policies and the optimum (Belady) are libcachesim's, a program of its own (peer.py); ours run beside them. A cell
fails if our LRU or S3-FIFO has other hits than libcachesim's, or if the default is farther from the best of the eight
than MOST_POINTS, points being hits for 100 references.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from pgquern.tiercache import hits, variants
from rich import box
from rich.table import Table

from bench.tiercache.made import TRACES, of_folder
from bench.tiercache.peer import LEAST_FRAMES, NOT_INSTALLED, write_trace
from tools.common import progress, results

PERCENTS = (0.5, 1, 2, 5, 10, 20, 50)
"""The frames, as a share of the trace's distinct pages."""
EIGHT = ("lru", "clock", "2q", "arc", "lirs", "s3fifo", "sieve", "wtinylfu")
OPTIMUM = "optimum"
DEFAULT = "tinylfu"
SAME = ("lru", "s3fifo")
MOST_POINTS = 10.0
Cell = dict[str, Any]


class Peer:
    """libcachesim: a line asks, a line answers."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "bench.tiercache.peer"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def hits(self, policy: str, trace: Path, frames: int) -> int | None:
        """None: it is not installed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"policy": policy, "frames": frames, "pages": str(trace)}
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return int(json.loads(line)["hits"])
        if self.process.wait() == NOT_INSTALLED:
            return None
        raise RuntimeError(f"libcachesim has ended with status {self.process.returncode} at {asked}")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def points(cell: Cell) -> dict[str, float]:
    """By policy, how far it is from the best of the eight; ours with "our " before. Below 0: better than these."""
    best = max(cell["peer"][policy] for policy in EIGHT)
    found = {policy: cell["peer"][policy] for policy in EIGHT} | {f"our {p}": n for p, n in cell["ours"].items()}
    return {policy: 100 * (best - n) / cell["references"] for policy, n in found.items()}


def faults(cell: Cell) -> list[str]:
    """What is wrong with a cell."""
    peer, ours = cell["peer"], cell["ours"]
    found = [f"{p}: {ours[p]} hits, and libcachesim has {peer[p]}" for p in SAME if ours[p] != peer[p]]
    found += [f"{p}: {n} hits, and the optimum has {peer[OPTIMUM]}" for p, n in ours.items() if n > peer[OPTIMUM]]
    far = points(cell)[f"our {DEFAULT}"]
    if far > MOST_POINTS:
        found.append(f"{DEFAULT} is {far:.1f} points from the best, and {MOST_POINTS:.0f} are the most")
    return found


def cells(peer: Peer, traces: Mapping[str, Callable[[], list[int]]], folder: Path) -> Iterator[Cell]:
    """A cell for each trace and size. Without libcachesim: one, without its hits."""
    for name, make in traces.items():
        pages = make()
        distinct = len(set(pages))
        trace = folder / "trace"
        write_trace(trace, pages)
        for percent in PERCENTS:
            frames = max(LEAST_FRAMES, int(distinct * percent / 100))
            cell: Cell = {"trace": name, "percent": percent, "frames": frames, "references": len(pages)}
            cell["peer"] = {policy: peer.hits(policy, trace, frames) for policy in (*EIGHT, OPTIMUM)}
            cell["ours"] = {variant.name: hits(pages, frames, policy=variant.name) for variant in variants()}
            yield cell
            if cell["peer"][OPTIMUM] is None:
                return


def item(cell: Cell) -> Cell:
    name = f"{cell['trace']}, {cell['percent']} %"
    if cell["peer"][OPTIMUM] is None:
        return {"name": name, "status": "skipped", "reason": "libcachesim has no wheel for this machine or this Python"}
    found = faults(cell)
    return {"name": name, "status": "failed" if found else "passed", "reason": "; ".join(found), **cell}


def table_of(items: list[Cell]) -> Table:
    """A line a policy: the farthest it is from the best, where, and how often by more than 2 points."""
    shown = Table(title="points from the best of the eight policies of libcachesim", box=box.SIMPLE)
    shown.add_column("policy")
    for head in ("farthest", "where", "over 2", "mean"):
        shown.add_column(head, justify="right")
    for policy, (farthest, where, over, mean) in summary(items).items():
        shown.add_row(policy, f"{farthest:.1f}", where, f"{over} of {len(items)}", f"{mean:.2f}")
    return shown


def summary(items: list[Cell]) -> dict[str, tuple[float, str, int, float]]:
    """By policy: the most points from the best, where, how many cells with more than 2, the mean."""
    far = [(points(cell), cell["name"]) for cell in items]
    found = {}
    for policy in far[0][0]:
        all_points = [(by_policy[policy], name) for by_policy, name in far]
        mean = sum(p for p, _ in all_points) / len(all_points)
        found[policy] = (*max(all_points), sum(p > 2 for p, _ in all_points), mean)
    return dict(sorted(found.items(), key=lambda entry: entry[1][0]))


@click.command()
@click.option("--traces", "own", type=click.Path(path_type=Path), help="A folder with further traces.")
def main(own: Path | None) -> None:
    """Each policy on each trace at each size, and how far it is from the best."""
    try:
        traces = TRACES | (of_folder(own) if own else {})
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    items: list[Cell] = []
    peer = Peer()
    console = progress.console()
    with tempfile.TemporaryDirectory() as folder, progress.bar(console) as bar:
        task = bar.add_task("policies", total=len(traces) * len(PERCENTS))
        for cell in cells(peer, traces, Path(folder)):
            items.append(item(cell))
            bar.advance(task)
    peer.close()
    result = results.write(
        "policies", "tiercache", items, says="each eviction policy's hits, beside the best of eight", tools={},
    )  # fmt: skip
    counted = [cell for cell in items if cell["status"] != "skipped"]
    if counted:
        console.print(table_of(counted))
    for cell in items:
        if cell["reason"]:
            console.print(f"{cell['status'].upper()} {cell['name']}: {cell['reason']}")
    sys.exit(result.status == "failed")


if __name__ == "__main__":
    main()
