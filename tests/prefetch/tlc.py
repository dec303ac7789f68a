# SPDX-License-Identifier: PostgreSQL
"""Gives traces to spec/prefetch/TraceRecoveryPrefetch.tla, through the models' runner; those of a run in one JVM."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.common import results
from tools.common.recordings import SUFFIX, save

TOP = Path(__file__).resolve().parents[2]
SPEC = TOP / "spec" / "prefetch"
JAR = TOP / "build" / "tools" / "tla2tools.jar"

Lines = list[dict[str, Any]]
"""A trace: its head, and then its events."""

LOG = """
[base.log]
base = "TraceRecoveryPrefetch"
constants = { MayBeLate = true, MayChange = true }

"""
RUN = """[run.Followed_small_{name}]
says = "Traces that are followed to their ends, or refused at the event that was altered."
base = "{base}"
definitions = {{ Trace = "{first}", Traces = "{name}" }}
holds = {{}}

"""


def altered(trace: Lines, events: Sequence[dict[str, Any]], wrong: int) -> Lines:
    """The trace with other events, the first of which that differs is number `wrong`."""
    return [trace[0] | {"wrong": wrong}, *events]


def follow(top: Path, runs: Mapping[str, Mapping[str, Lines]]) -> dict[str, dict[str, Any]]:
    """What TLC says of each run, by name. A run that holds has followed each of its traces to the end, and has refused
    each altered one at the event that was altered. The traces of a run share relations, lengths, buffers and room."""
    stem = top / "spec" / "prefetch"
    (stem / "traces").mkdir(parents=True)
    for source in SPEC.glob("*.tla"):
        shutil.copy(source, stem)
    for trace in ("pg15_3", "pg15_small"):  # the module has alterations of them
        shutil.copy(SPEC / "traces" / f"{trace}{SUFFIX}", stem / "traces")
    (top / "build" / "tools").mkdir(parents=True)
    (top / "build" / "tools" / JAR.name).symlink_to(JAR)

    kept = (SPEC / "models.toml").read_text()
    base = re.search(r"^\[base\.TraceRecoveryPrefetch\].*?(?=^\[run)", kept, re.M | re.S)
    assert base is not None
    text = base[0] + LOG
    module = "---- MODULE Followed ----\nEXTENDS TraceRecoveryPrefetch\n"
    for run, traces in runs.items():
        names = [f"{run}_{name}" for name in traces]
        for name, lines in zip(names, traces.values(), strict=True):
            save(stem / "traces" / f"{name}{SUFFIX}", lines)
        module += f"{run} == <<{', '.join(names)}>>\n"
        of_server = all("server" in lines[0] for lines in traces.values())
        text += RUN.format(name=run, first=names[0], base="TraceRecoveryPrefetch" if of_server else "log")
    (stem / "Followed.tla").write_text(f"{module}====\n")
    (stem / "models.toml").write_text(text)

    command = [sys.executable, str(TOP / "spec" / "run.py"), "--stem", "prefetch", "--accept"]
    done = subprocess.run(command, cwd=top, check=False, capture_output=True, text=True)
    found = results.load(top / "build" / "results")
    assert found, done.stdout + done.stderr
    return {item.name.removeprefix("Followed_small_"): item.model_dump() for item in found[0].items}
