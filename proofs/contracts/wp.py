# SPDX-License-Identifier: PostgreSQL
"""WP, the plug-in of Frama-C that proves contracts of C, with the prover CVC4, if they are installed."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.ctext.outcome import Checked, ToolBrokenError, ToolMissingError, UndecidedError

KNOWN = 25
"""The major version of Frama-C whose goals are counted in contracts.toml."""
PROVER = "cvc4"
"""Z3 proved nothing more, and was seen to run on without counting steps."""
SECONDS = 600
"""Of the prover on a goal. It ends by its steps long before; if the clock ends it, there is no verdict."""
INSTALL = "apt install frama-c-base why3 cvc4"
CONVERSIONS = Path("proofs/contracts/conversions.h")
WORK = Path("build/prove-contracts")
SCHEDULED = re.compile(r"^\[wp\] (\d+) goals? scheduled", re.MULTILINE)
PROVED = re.compile(r"^\[wp\] Proved goals:\s+(\d+) / (\d+)", re.MULTILINE)
OPEN = re.compile(r"^\[wp\] \[[^\]]+\] Goal (typed_\w+) : (?!Valid\b)(.*)$", re.MULTILINE)
NAMED = re.compile(r"_(?:ensures|loop_invariant|assert)_(?!rte_)(\w+?)(?:_(?:preserved|established))?$")
"""A goal of a promise that has a name."""
BY_CLOCK = re.compile(r"\b[Tt]imeout\b")


@dataclass(frozen=True)
class Tool:
    """Frama-C: its command, its version, and what proves for it."""

    path: str
    major: int
    says: str
    why3: str
    """Where the settings of Why3 are, which calls the provers."""


@cache
def find(work: Path = WORK) -> Tool:
    """Frama-C with WP and the prover. Raises ToolMissingError, or ToolBrokenError if FRAMA_C= names something else."""
    named = os.environ.get("FRAMA_C")
    path = shutil.which(named or "frama-c")
    if path is None and named:
        raise ToolBrokenError(f"FRAMA_C={named} is no program; name a frama-c of version {KNOWN} or newer")
    if path is None:
        raise ToolMissingError(f"no Frama-C: {INSTALL}, or set FRAMA_C=/path/to/frama-c")
    version = re.match(r"(\d+)\.\d+\S*", said := _said([path, "-version"]))
    if version is None:
        raise ToolBrokenError(f"'{path} -version' says {said.strip()!r}; name a frama-c of version {KNOWN} or newer")
    if int(version[1]) < KNOWN:
        raise ToolMissingError(f"no Frama-C: {path} is {version[0]}, and {KNOWN} or newer is needed")
    work.mkdir(parents=True, exist_ok=True)
    settings = str((work / "why3.conf").resolve())
    if shutil.which("why3") is None:
        raise ToolMissingError(f"no Frama-C that can prove: Why3 is missing; {INSTALL}")
    _said(["why3", "config", "detect"], settings)
    prover = re.search(rf"Prover\s+(\S+ \S+)\s+\[{PROVER}\|", _said([path, "-wp-detect"], settings))
    if prover is None:
        raise ToolMissingError(f"no Frama-C that can prove: it finds no {PROVER}; {INSTALL}")
    return Tool(path, int(version[1]), f"Frama-C {version[0]}, {prover[1]}", settings)


def check(
    tool: Tool,
    source: Path,
    csrc: Path,
    functions: Sequence[str],
    steps: int,
    goals: int | None = None,
    *,
    split: bool = False,
    goal: str = "",
) -> Checked:
    """Run WP on some functions of `source`, which have so many goals, if that is known. split: each branch has its own.

    goal: the one to look at, with those of the same name; all, if it has none. Each is proved by itself, so it does not
    matter what is left out. Raises ToolBrokenError, or UndecidedError if the clock ended it.
    """
    flags = f"-I{csrc} -include stdint.h -include {CONVERSIONS}"
    command = [tool.path, f"-cpp-extra-args={flags}", "-machdep", "gcc_x86_64", "-instantiate", str(source)]
    command += ["-then", "-wp", "-wp-rte", "-wp-cache", "none", "-wp-par", "1", "-wp-fct", ",".join(functions)]
    command += ["-wp-prover", PROVER, "-wp-steps", str(steps), "-wp-timeout", str(SECONDS)]
    command += ["-wp-split"] if split else []
    command += ["-wp-prop", named[1]] if (named := NAMED.search(goal)) else []
    said = _said(command, tool.why3)
    proved, scheduled = PROVED.search(said), SCHEDULED.search(said)
    if proved is None or scheduled is None:
        raise ToolBrokenError(f"Frama-C came to no verdict: {said.strip()[-500:]}")
    left = OPEN.findall(said)
    if int(proved[1]) + len(left) != int(proved[2]):
        raise ToolBrokenError(f"{proved[0]}, but {len(left)} goals are named as not proved: {said.strip()[-500:]}")
    if ended := [goal for goal, how in left if BY_CLOCK.search(how)]:
        raise UndecidedError(f"not decided by Frama-C within {SECONDS} s: {', '.join(ended[:3])}")
    return Checked(count := int(proved[2]), [goal.removeprefix("typed_") for goal, _ in left], fault(count, goals))


def fault(count: int, goals: int | None) -> str:
    """What is wrong with the number of goals."""
    if goals is not None and count != goals:
        return f"it has {count} goals, not {goals}; correct `goals` if that is right"
    return "" if count else "it claims nothing"


def _said(command: Sequence[str], why3: str = "") -> str:
    environment = {**os.environ, "WHY3CONFIG": why3} if why3 else None
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return run.stdout + run.stderr
