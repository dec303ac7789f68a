# SPDX-License-Identifier: PostgreSQL
"""Apalache, the symbolic model checker, if it is installed: laws and inductive invariants on the true 2^32."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from spec.tools import cfg, tlc
from spec.tools.models import ModelError, Run
from spec.tools.outcome import Outcome, ToolBroken, ToolMissing

VIOLATED = re.compile(r"State (\d+): state invariant \d+ violated")
VERSION = re.compile(r"^(\d+\.\d+\.\d+\S*)\s*$", re.MULTILINE)
HANG_SECONDS = 600
MEND = (
    "Name an apalache-mc that works; it starts the java on PATH, which must be 21 or newer (spec/README.md). "
    "Without APALACHE, and without apalache-mc on PATH, its runs are skipped"
)
ERROR = re.compile(r"^(.*?)\s+E@[\d:.]+$", re.MULTILINE)


@cache
def find() -> tuple[str, str]:
    """Apalache's command and version.

    Raises ToolMissing if nobody asked for Apalache and there is none, and ToolBroken if what was named, or is on PATH,
    does not work.
    """
    named = os.environ.get("APALACHE")
    path = shutil.which(named or "apalache-mc")
    if path is None and not named:
        raise ToolMissing("no Apalache: set APALACHE=/path/to/apalache-mc, or put apalache-mc on PATH")
    if path is None:
        raise ToolBroken(f"APALACHE={named} is no program. {MEND}")
    try:
        with temporary() as environment:
            asked = subprocess.run(
                [path, "version"], env=environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolBroken(f"'{path} version' failed: {error}. {MEND}") from error
    version = VERSION.search(asked.stdout)
    if asked.returncode != 0 or version is None:
        said = " ".join((asked.stdout + asked.stderr).split())[-300:] or "it said nothing"
        raise ToolBroken(f"'{path} version' ended with exit code {asked.returncode}: {said}. {MEND}")
    return path, f"Apalache {version[1]}"


@contextmanager
def temporary() -> Iterator[dict[str, str]]:
    """The environment of a process whose temporary files go when it has ended. Apalache leaves its own behind."""
    with tempfile.TemporaryDirectory(prefix="pgquern-") as folder:
        yield {**os.environ, "TMPDIR": folder}


def command(run: Run, build: Path) -> tuple[list[str], Path]:
    """The command line for Apalache, and the folder to start it in."""
    path, _ = find()
    scratch = tlc.scratch(run, build)
    shutil.rmtree(scratch, ignore_errors=True)
    folder = prepare(run, build)
    return [path, *arguments(run, f"--out-dir={folder / 'out'}")], folder


def by_hand(run: Run, build: Path) -> str:
    """The command line for people. Makes the folder that it needs."""
    return f"cd {prepare(run, build)} && {shlex.join(['apalache-mc', *arguments(run)])}"


def arguments(run: Run, *others: str) -> list[str]:
    """Apalache's own arguments."""
    options = [f"--config={run.name}.cfg", f"--length={run.length}", "--no-deadlock=true"]
    return ["check", *options, *others, f"{run.name}.tla"]


def prepare(run: Run, build: Path) -> Path:
    """Make the folder of a run. It holds copies of all modules, because Apalache finds no others."""
    folder = tlc.scratch(run, build)
    folder.mkdir(parents=True, exist_ok=True)
    modules = [*run.module.parent.parent.glob("common/*.tla"), *run.module.parent.glob("*.tla")]
    for module in modules:
        shutil.copy(module, folder)
    shutil.copy(cfg.write(run, build), folder)
    (folder / f"{run.name}.tla").write_text(root(run, [module.read_text() for module in modules]))
    return folder


def root(run: Run, modules: Sequence[str]) -> str:
    """The module that Apalache starts from: the run's module, with the definitions that the run replaces.

    For TLC they stand in the configuration file. Apalache replaces only definitions without parameters there. A
    definition OVERRIDE_NAME replaces NAME, whatever its parameters. modules: the text of all modules.
    """
    text = f"---- MODULE {run.name} ----\nEXTENDS {run.module.stem}\n"
    for name, by in run.settings.definitions.items():
        defined = re.compile(rf"^{by}(?:\((?P<parameters>.*?)\))? *==", re.MULTILINE)
        found = next(filter(None, map(defined.search, modules)), None)
        if found is None:
            raise ModelError(f"{run.key}: no module defines {by}, which replaces {name}")
        count = len(found["parameters"].split(",")) if found["parameters"] else 0
        given = f"({', '.join(f'p{i}' for i in range(count))})" if count else ""
        text += f"OVERRIDE_{name}{given} == {by}{given}\n"
    return f"{text}====\n"


def parse(output: str, exit_code: int, names: Sequence[str]) -> Outcome:
    """Judge a whole output of Apalache together with its exit code. names: the invariants that it checked."""
    seen = Outcome(tool=find()[1])
    if exit_code == 0 and "The outcome is: NoError" in output:
        seen.result = "success"
    elif exit_code == 12 and (violated := VIOLATED.search(output)):
        # It numbers the conjuncts of the invariant, not the names: a run that must fail has one name.
        seen.result, seen.sort, seen.trace_length = "violation", "invariant", int(violated[1]) + 1
        seen.property = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    else:
        error = ERROR.search(output)
        seen.reason = error[1].strip() if error else f"Apalache ended with exit code {exit_code} and no verdict"
    return seen
