# SPDX-License-Identifier: PostgreSQL
"""How the states and the time of a model grow with each of its bounds.

Of each module that bounds a model the smallest run that holds is taken. One whole number among its constants at a time
is raised by one, or one set gets an element more, until a run takes longer than the limit. All else stays as it is, and
so does what is checked.
"""

from __future__ import annotations

import re
import resource
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from spec.tools import tlc
from spec.tools.models import Holds, Run
from spec.tools.smallest import BOUNDED, size

STEPS = 4
"""A bound is raised at most so often."""
TOO_LONG = "s of CPU"
"""How the reason ends if a run took longer than it may."""
NUMBERED = re.compile(r'\{(?:.*, *)?(?P<word>"?[A-Za-z]*)(?P<number>\d+)(?P<quote>"?)\}')
"""A set in a configuration, its last element a number or a string that ends in one."""


@dataclass
class Growth:
    """What one bound does to a run."""

    run: Run
    bound: str
    values: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    ended: str = ""
    """Why no further value was tried."""

    @property
    def factor(self) -> float | None:
        """How many times as many states the last step gave; None if there was no step."""
        return self.states[-1] / self.states[-2] if len(self.states) > 1 else None

    @property
    def expected(self) -> tuple[int, float] | None:
        """States and seconds of the next value, if it grows as in the last step."""
        factor = self.factor
        return (round(self.states[-1] * factor), self.seconds[-1] * factor) if factor else None


def chosen(runs: Sequence[Run]) -> list[Run]:
    """The smallest run that holds, of each module that bounds a model."""
    least: dict[str, Run] = {}
    for run in runs:
        name = run.module.stem
        if name.startswith(BOUNDED) and isinstance(run.expected, Holds) and run.expected.states:
            least[name] = min(least.get(name, run), run, key=size)
    return list(least.values())


def bounds(run: Run) -> Iterator[tuple[str, list[int | str], list[int]]]:
    """The constants of a run that can be raised, the values that each gets, and how large these are: a whole number,
    or a set whose last element has a number at its end, of which one more is then in the set."""
    for name, value in run.settings.constants.items():
        if isinstance(value, str) and (found := NUMBERED.fullmatch(value)):
            first, kept = int(found["number"]), value.count(",") + 1
            more = [f"{found['word']}{first + step}{found['quote']}" for step in range(1, STEPS + 1)]
            sets = [f"{{{', '.join([value.strip('{} '), *more[:step]])}}}" for step in range(STEPS + 1)]
            yield f"|{name}|", [*sets], [*range(kept, kept + STEPS + 1)]
        elif isinstance(value, int) and not isinstance(value, bool):
            raised = [*range(value, value + STEPS + 1)]
            yield name, [*raised], raised


def measure(run: Run, build: Path, limit: int) -> tuple[int, float] | str:
    """States and CPU seconds of a run; or why there are none."""
    line, folder = tlc.command(run, build, coverage=False)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit + 1))
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, preexec_fn=cpu)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return f"more than {limit} {TOO_LONG}"
    seen = tlc.parse(done.stdout, done.returncode, run.settings.properties)
    if seen.result != "success" or seen.distinct is None:
        return f"{seen.property} is violated" if seen.property else seen.reason
    return seen.distinct, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grow(run: Run, bound: str, values: Sequence[int | str], sizes: Sequence[int], build: Path, limit: int) -> Growth:
    """Raise one bound of a run, step by step."""
    found, name = Growth(run, bound), bound.strip("|")
    for value, raised in zip(values, sizes, strict=True):
        changed = run.settings.model_copy(update={"constants": run.settings.constants | {name: value}})
        seen = measure(replace(run, name=f"{run.name}.{name}.{raised}", settings=changed), build, limit)
        if isinstance(seen, str):
            found.ended = f"{raised}: {seen}"
            break
        found.values.append(raised)
        found.states.append(seen[0])
        found.seconds.append(round(seen[1], 1))
        if found.states[-3:] == [seen[0]] * 3:
            found.ended = "no more states"
            break
    return found
