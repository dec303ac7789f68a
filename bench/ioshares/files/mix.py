# SPDX-License-Identifier: PostgreSQL
"""Runs build/bench/ioshares/mix, and says what its records say."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PROGRAM = Path("build/bench/ioshares/mix")
PAGE = 8192
RECORD = np.dtype([("at", "u8"), ("latency", "u8"), ("cls", "u4"), ("write", "u4")])
BACKEND, CLASSES = 0, 4
QUANTILES = [*np.linspace(0, 99, 100).tolist(), 99.5, 99.9, 99.99, 100.0]
SLOT_MS = 50


class MixError(RuntimeError):
    """The program has found a wrong page, or could not do its work; the text says which."""


@dataclass(frozen=True)
class Target:
    """What I/O is done on. path: a file, or a block device, whose pages have their numbers."""

    path: Path
    pages: int


@dataclass(frozen=True)
class Way:
    """How requests get to the device.

    scheduler: of csrc/ioshares, or "none": then each class is a process of its own, as a server's are. options: more
    arguments for the program. places: by class, what its process is to the kernel.
    """

    scheduler: str
    options: tuple[str, ...] = ()
    places: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """What one run saw. Times in ns."""

    ms: int
    way: str
    direct: bool
    records: Any

    def latency(self, cls: int) -> Any:
        return self.records["latency"][self.records["cls"] == cls]

    def a_second(self, cls: int) -> float:
        """Requests of the class that ended, a second."""
        return len(self.latency(cls)) * 1000 / self.ms

    def quantile(self, percent: float, cls: int = BACKEND) -> float:
        """Of the latency, in µs."""
        return float(np.percentile(self.latency(cls), percent)) / 1000

    def quantiles(self) -> list[float]:
        """QUANTILES of the foreground's latency, in µs."""
        return [float(x) / 1000 for x in np.percentile(self.latency(BACKEND), QUANTILES)]

    def timeline(self) -> list[float]:
        """The foreground's p99 in each slot, in µs; 0 where nothing ended."""
        slot = self.records["at"] // (SLOT_MS * 1_000_000)
        found = [
            self.records["latency"][(slot == i) & (self.records["cls"] == BACKEND)] for i in range(self.ms // SLOT_MS)
        ]
        return [float(np.percentile(x, 99)) / 1000 if len(x) else 0.0 for x in found]

    def service(self, edges: Sequence[float]) -> list[list[int]]:
        """By class, how many requests had ended by each time, in seconds."""
        at = [np.sort(self.records["at"][self.records["cls"] == cls]) for cls in range(CLASSES)]
        return [np.searchsorted(x, np.asarray(edges) * 1e9).tolist() for x in at]


def parse(outputs: Sequence[bytes], ms: int) -> Run:
    """What the processes of one run have written."""
    heads, bodies = zip(*(output.split(b"\n", 1) for output in outputs), strict=True)
    head = json.loads(heads[0])
    return Run(ms, head["way"], head["direct"], np.concatenate([np.frombuffer(body, RECORD) for body in bodies]))


def run(target: Target, way: Way, loads: Mapping[int, str], ms: int, seed: int) -> Run:
    """All classes that have a load, for so many ms."""
    common = [f"file={target.path}", f"pages={target.pages}", f"scheduler={way.scheduler}", f"ms={ms}", f"seed={seed}"]
    common += [*way.options, f"start={time.monotonic_ns() + 200_000_000}"]
    groups = [[cls] for cls in loads] if way.scheduler == "none" else [list(loads)]
    started = [
        subprocess.Popen(
            [PROGRAM, *common, *(f"{cls}={loads[cls]}" for cls in group), *way.places.get(group[0], ())],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for group in groups
    ]
    outputs = [process.communicate() for process in started]
    for process, (_, errors) in zip(started, outputs, strict=True):
        if process.returncode:
            raise MixError(errors.decode(errors="replace").strip() or f"the program ended with {process.returncode}")
    return parse([output for output, _ in outputs], ms)


def make_pages(path: Path, pages: int) -> Target:
    """A file of pages, each with its number; one that is there already is kept."""
    if not path.exists() or path.stat().st_size != pages * PAGE:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for first in range(0, pages, 1024):
                block = np.zeros((min(1024, pages - first), PAGE // 8), dtype="<u8")
                block[:, 0] = np.arange(first, first + len(block))
                file.write(block.tobytes())
            file.flush()
            subprocess.run(["sync", "--file-system", path], check=True)
    return Target(path, pages)
