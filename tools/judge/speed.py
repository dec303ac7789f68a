# SPDX-License-Identifier: PostgreSQL
"""How fast a candidate is: tools/judge/driver.c times it beside upstream's variants and ours, each in its own host.

`sizes` and `percents` in tests/<stem>/judge.toml are the grid; each call's size lies at random up to a tenth beside it.
Between two sizes any size is taken, with any share: nobody is fast at the grid alone.
A host's time is the CPU time that the kernel counts for it, from one question to the next: no candidate can reach that
clock. In each round all have the same inputs, new ones, in hosts that are new, too; then all outputs are compared with
ours. Ratios are paired, with the interval of bench.goals.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from bench import goals
from bench.goals import Config, Goals, Ratio, Roles, Times
from tools.judge.build import Candidate, Hosts, host
from tools.judge.kinds import JudgeError, Kind, kind_of
from tools.judge.run import of_native
from tools.judge.source import variants_of
from tools.judge.verdict import Verdict

CANDIDATE, OTHER = "candidate", "other"
ROUNDS = 11
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
    to_other: Ratio | None
    """Beside another candidate, if there is one."""

    @property
    def where(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.config.items())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: value.model_dump() if isinstance(value, Ratio) else value for name, value in vars(self).items()}

    @property
    def slower(self) -> bool:
        return (self.to_upstream.high or self.to_upstream.median) < MARGIN


def rivals(kind: Kind) -> Roles:
    """Upstream's variants and ours that this CPU runs, and that have the candidate's order."""
    from pgquern.variants import variants

    runs = {one.name for one in variants(kind.name) if one.supported}
    names = [name for name in variants_of(kind) if name in runs and kind_of(kind.name, name).traits == kind.traits]
    of_stem = goals.load(Path("bench", kind.stem, "goals.toml")).roles
    upstream = [name for name in names if any(name in who.upstream for who in of_stem)] or names[:1]
    return Roles(upstream=upstream, ours=[name for name in names if name not in upstream] or upstream)


def place(config: Config, times: Times, table: Goals) -> Place:
    """Where the candidate stands in a configuration."""
    who = table.roles_of(config)
    upstream, mine = who.faster_upstream(times), times[CANDIDATE]
    best = min((v for v in who.ours if v in times), key=lambda v: float(np.median(times[v])))
    other = goals.paired_ratio(times[OTHER], mine) if OTHER in times else None
    ratios = goals.paired_ratio(times[upstream], mine), goals.paired_ratio(times[best], mine)
    return Place(config, upstream, float(np.median(times[upstream])), ratios[0], best, ratios[1], other)


def stand(
    candidate: Candidate, hosts: Hosts | None, seed: int, *, full: bool, other: Path | None = None
) -> tuple[Verdict | None, list[Place]]:
    """Measures. other: the program of another candidate. JudgeError: an error of ours."""
    assert hosts is not None
    kind, roles = candidate.kind, rivals(candidate.kind)
    names = [name for name in (*roles.upstream, *roles.ours) if name != kind.like]
    programs = {CANDIDATE: hosts.theirs} | ({OTHER: other} if other else {})
    for name in names:
        programs[name] = host(candidate, kind_of(kind.name, name).variant, candidate.folder / f"host-{name}")
    programs[kind.like] = hosts.ours
    places: list[Place] = []
    sizes = sorted({n for n, _ in kind.sizes})
    grid = [(n, n, percent) for n, percent in kind.sizes] + [(*pair, -1) for pair in pairwise(sizes)]
    for i, (low, high, percent) in enumerate(grid):
        words = [hosts.driver, "time", seed + i, ROUNDS * (2 if full else 1), low, high, percent, *programs.values()]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode == 1:
            return of_native(1, done.stdout).verdict, places
        rounds = re.findall(r"^round \d+ \d+ (.*)$", done.stdout, re.MULTILINE)
        if done.returncode or not rounds:
            raise JudgeError(
                f"The times ended with {done.returncode}: an error of the judge:\n{done.stdout}{done.stderr}"
            )
        columns = zip(*([max(float(word), 0.01) for word in line.split()] for line in rounds), strict=True)
        times = dict(zip(programs, map(list, columns), strict=True))
        config = {"n": str(low), "kept": f"{percent} %"} if low == high else {"n": f"{low} to {high}", "kept": "any"}
        places.append(place(config, times, Goals(quick=[], roles=[roles])))
    return None, places


def says(places: Sequence[Place]) -> str:
    """One line for people."""
    ratios = [found.to_upstream.median for found in places]
    ours = [found.to_best.median for found in places]
    slower = [found for found in places if found.slower]
    spread = (
        f"{min(ratios):.2f} to {max(ratios):.2f} times as fast as upstream, {min(ours):.2f} to {max(ours):.2f} as ours"
    )
    if not slower:
        return f"{spread}, in {len(places)} configurations"
    worst = min(slower, key=lambda found: found.to_upstream.median)
    return (
        f"slower than upstream in {len(slower)} of {len(places)} configurations ({worst.where} most of all); {spread}"
    )


def shown(places: Sequence[Place]) -> Table:
    """A line for each configuration."""
    title = "median ns of upstream's faster variant; the candidate, times as fast"
    table = Table(title=title, title_justify="left")
    keys = list(dict.fromkeys(key for found in places for key in found.config))
    keys = [key for key in keys if len({found.config.get(key) for found in places}) > 1]
    for head in keys:
        table.add_column(head)
    of_other = ["as the other"] if any(found.to_other for found in places) else []
    for head in ("upstream", "ns", "as upstream", "our best", "as ours", *of_other):
        table.add_column(head, justify="right", no_wrap=head.startswith("as"))
    for found in places:
        colour = "[red]" if found.slower else ""
        cells = [found.upstream, f"{found.ns:,.0f}", f"{colour}{found.to_upstream}", found.best, str(found.to_best)]
        cells += [str(found.to_other)] if found.to_other else []
        table.add_row(*(found.config.get(key, "") for key in keys), *cells)
    return table
