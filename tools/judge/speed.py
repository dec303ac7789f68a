# SPDX-License-Identifier: PostgreSQL
"""How fast a candidate is: the stem's own benchmark, with the candidate as one more variant of its kind.

The variants of a configuration are measured in turn, as bench/harness.h says; `bench` in tests/<stem>/judge.toml picks
the configurations. Ratios are paired, with the interval of bench.goals.
"""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from bench import goals
from bench.goals import Config, Goals, Ratio, Times
from bench.measure import list_configs, measure
from tools.common.kernels import kernel_sources
from tools.judge.build import Candidate, unwatched
from tools.judge.kinds import JudgeError, Kind

BUILD = Path("build/bench")
CANDIDATE = "candidate"
ROUNDS = 7
"""Six are the fewest that give an interval of 95 %."""
MARGIN = 0.95
"""A candidate is slower where the whole interval of its ratio lies below this: a kernel may differ from itself by as
much."""


@dataclass(frozen=True)
class Place:
    """A configuration, and how many times as fast the candidate is there."""

    config: Config
    upstream: str
    """Upstream's faster variant."""
    ns: float
    """Its median."""
    to_upstream: Ratio
    best: str
    """The fastest of ours."""
    to_best: Ratio
    to_limit: Ratio | None
    """Beside what no variant can be faster than, if the benchmark has it."""

    @property
    def where(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.config.items())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value.model_dump() if isinstance(value, Ratio) else value for name, value in vars(self).items()}

    @property
    def slower(self) -> bool:
        return (self.to_upstream.high or self.to_upstream.median) < MARGIN


def build(candidate: Candidate, cflags: Sequence[str]) -> Path:
    """The stem's benchmark with the candidate in its table, called as directly as all others. JudgeError."""
    stem, folder = candidate.kind.stem, candidate.folder / "speed"
    folder.mkdir(parents=True, exist_ok=True)
    # The make that runs the judge has variables that are not meant for this one.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    made = subprocess.run(["make", "-s", BUILD / stem / "bench"], capture_output=True, text=True, env=environment)
    if made.returncode:
        raise JudgeError(f"The benchmark does not build; repair this clone:\n{made.stderr[-3000:]}")
    mine = unwatched(candidate, cflags, folder)
    sources = [*Path("bench", stem).glob("*.cc"), *(p for p in Path("bench", stem).glob("*.c") if p.stem != "icount")]
    objects = [BUILD / "harness.cc.o", *(BUILD / stem / f"{source.name}.o" for source in sources)]
    own = candidate.kind.table()
    objects += [Path("build/obj", s.relative_to("csrc")).with_suffix(".o") for s in kernel_sources() if s != own]
    command: list[str | Path] = ["g++", *objects, *mine, "-lbenchmark", "-lpthread", *shlex.split(candidate.flags)]
    command += ["-o", folder / "bench"]
    linked = subprocess.run(command, capture_output=True, text=True)
    if linked.returncode:
        raise JudgeError(f"{candidate.source} does not link into the benchmark:\n{linked.stderr[-3000:]}")
    return folder / "bench"


def configurations(kind: Kind, binary: Path, *, full: bool) -> list[tuple[Config, str]]:
    """Those that judge.toml picks, each with the pattern that picks its variants."""
    listed = [found for found in list_configs(binary) if goals.selects_any(kind.bench, found[0])]
    return [found for found in listed if full or not kind.quick or goals.selects_any(kind.quick, found[0])]


def place(config: Config, times: Times, table: Goals) -> Place:
    """Where the candidate stands in a configuration."""
    who = table.roles_of(config)
    upstream, mine = who.faster_upstream(times), times[CANDIDATE]
    best = min((v for v in who.ours if v in times), key=lambda v: float(np.median(times[v])))
    limit = goals.paired_ratio(times[who.limit], mine) if who.limit and who.limit in times else None
    ratios = goals.paired_ratio(times[upstream], mine), goals.paired_ratio(times[best], mine)
    return Place(config, upstream, float(np.median(times[upstream])), ratios[0], best, ratios[1], limit)


def stand(candidate: Candidate, binary: Path, *, full: bool) -> list[Place]:
    """Measures. ClickException: the benchmark failed."""
    table = goals.load(Path("bench", candidate.kind.stem, "goals.toml"))
    wanted = configurations(candidate.kind, binary, full=full)
    measured = measure(binary, wanted, runs=1, rounds=lambda _: ROUNDS, done=lambda _: None)
    return [place(config, times, table) for config, times in measured]


def says(places: Sequence[Place], gains: str) -> str:
    """One line for people."""
    ratios = [found.to_upstream.median for found in places]
    ours = [found.to_best.median for found in places]
    slower = [found for found in places if found.slower]
    spread = (
        f"{min(ratios):.2f} to {max(ratios):.2f} times {gains} as upstream, {min(ours):.2f} to {max(ours):.2f} as ours"
    )
    if not slower:
        return f"{spread}, in {len(places)} configurations"
    worst = min(slower, key=lambda found: found.to_upstream.median)
    return (
        f"slower than upstream in {len(slower)} of {len(places)} configurations ({worst.where} most of all); {spread}"
    )


def shown(places: Sequence[Place], kind: Kind) -> Table:
    """A line for each configuration."""
    title = f"median {kind.unit} of upstream's faster variant; the candidate, times {kind.gains}"
    table = Table(title=title, title_justify="left")
    keys = list(dict.fromkeys(key for found in places for key in found.config))
    keys = [key for key in keys if len({found.config.get(key) for found in places}) > 1]
    for head in keys:
        table.add_column(head)
    of_limit = ["of the limit"] if any(found.to_limit for found in places) else []
    for head in ("upstream", kind.unit, "as upstream", "our best", "as ours", *of_limit):
        table.add_column(head, justify="right", no_wrap=head.startswith("as"))
    for found in places:
        colour = "[red]" if found.slower else ""
        cells = [found.upstream, f"{found.ns:,.0f}", f"{colour}{found.to_upstream}", found.best, str(found.to_best)]
        cells += [f"{found.to_limit.median:.2f}"] if found.to_limit else []
        table.add_row(*(found.config.get(key, "") for key in keys), *cells)
    return table
