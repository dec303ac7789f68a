# SPDX-License-Identifier: PostgreSQL
"""How long each command takes, as `make help` tells it; and what to say of a run that took another time.

A warning in words, for whoever keeps the times right: machines differ, and no exit status hangs on the clock.
"""

import atexit
import os
import re
import subprocess
import time
from collections.abc import Iterator
from functools import cache

from tools.common.progress import console

BEGAN = time.monotonic()
FACTOR = 2.0
"""Machines differ, and so do a quiet and a busy one."""
MINUTES = {"s": 1 / 60, "min": 1.0, "h": 60.0, "hour": 60.0}


def minutes(text: str) -> float | None:
    """The first time of a text, in minutes: that on quiet cores, or of the first run."""
    found = re.search(r"\b(\d+|a) (s|min|h|hour)(?:ute)?s?\b", text)
    return (1 if found[1] == "a" else int(found[1])) * MINUTES[found[2]] if found else None


def in_help(shown: str) -> Iterator[tuple[str, str]]:
    """Of what `make help` prints: each target, and what stands there of its time. Not what is told for one stem."""
    for target, about in re.findall(r"^  make ([a-z-]+) .*\(([^()]*)\)$", shown, re.MULTILINE):
        if "a stem" not in about or "the longest stem" in about:
            yield target, about


@cache
def texts() -> dict[str, str]:
    """Target -> what is told of its time, in the tree that this runs in."""
    shown = subprocess.run(["make", "-s", "help"], capture_output=True, text=True, check=False).stdout
    return dict(in_help(shown))


def seconds(target: str) -> float | None:
    """The time told of a target that is made without variables; None if none is told."""
    much = minutes(texts().get(target, ""))
    return None if much is None else much * 60


def variables() -> list[str]:
    """Those in the command line of the `make` that runs this, as EXAMPLES=few: the targets below it get them, too."""
    return f" {os.environ.get('MAKEFLAGS', '')} ".partition(" -- ")[2].split()


def with_variables() -> bool:
    return bool(variables())


def spoken(took: int) -> str:
    """A time in seconds up to two minutes, then in minutes, from three hours on in hours."""
    if took >= 3 * 3600:
        return f"{round(took / 3600)} hours"
    return f"{took} s" if took <= 120 else f"{round(took / 60)} minutes"


def apart(target: str, took: float, *, whole: bool) -> str:
    """What to say of `make TARGET` if it took more than twice the time told, or less than half of a minute or more;
    "" if not. Less than half says nothing if not all of it ran, or if it is told that a second run is shorter."""
    much = seconds(target)
    if much is None:
        return ""
    short = whole and much >= 60 and "again" not in texts()[target] and took < much / FACTOR
    if took > FACTOR * much or short:
        return f"told {spoken(round(much))}, took {spoken(round(took))}: make {target}"
    return ""


def warn(line: str, *, stderr: bool = False) -> None:
    """Prints a line of apart()'s, if there is one."""
    if line:
        console(stderr=stderr).print(f"warning: {line}", markup=False, soft_wrap=True)


def late() -> str:
    """What to say if this process alone has taken more than twice what is told of the goal that `make` was called with
    by a person; "" if not. What else the goal needed is not counted, so that less than half says nothing."""
    goal = os.environ.get("PGQUERN_GOAL", "")
    return "" if not goal or with_variables() else apart(goal, time.monotonic() - BEGAN, whole=False)


@cache
def warn_at_the_end() -> None:
    """At the end of this process, say so if it was late."""
    atexit.register(lambda: warn(late(), stderr=True))
