# SPDX-License-Identifier: PostgreSQL
"""TLC, the explicit-state model checker: how it is started, and how its ``-tool`` output is read.

Every message stands between ``@!@!@STARTMSG code:class @!@!@`` and ``@!@!@ENDMSG code @!@!@``; the codes are those
of tlc2.output.EC.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spec.tools import cfg
from spec.tools.models import Run
from spec.tools.outcome import Outcome, Sort, ToolMissing

START = re.compile(r"@!@!@STARTMSG (\d+)(?::(\d+))? @!@!@")
END = re.compile(r"@!@!@ENDMSG \d+ @!@!@")
NAMED = re.compile(r"(?:Invariant|Action property|Property) (\S+) is violated")
COVERED = re.compile(r"<(\w+) line [^>]*>: \d+:(\d+)")
COUNTS = re.compile(r"([\d,]+) states generated.*?([\d,]+) distinct states found", re.DOTALL)
UNPARSED = re.compile(
    r"^\*\*\* ?(?:Parse Error\*\*\*|Errors: \d+)\s*(.+?)\s*(?:\n\n\n|^Residual|\Z)", re.MULTILINE | re.DOTALL
)
DEPTH_IS = re.compile(r"search is ([\d,]+)")

VERSION, SUCCESS, DEPTH, STATS, PROGRESS, COVERAGE_NEXT = 2262, 2193, 2194, 2199, 2200, 2772
ASSUMPTION_FALSE, DEADLOCK, TEMPORAL = 2104, 2114, 2116
# An invariant, in an initial state and later; a property, by an initial state and by a step.
NAMED_VIOLATIONS: dict[int, Sort] = {2107: "invariant", 2110: "invariant", 2108: "action", 2112: "action"}
STATES = {2217, 2218, 2122}  # a state of a trace; "stuttering"; "back to state n"
ERROR_CLASS = "1"


def find(build: Path) -> tuple[str, Path]:
    """The commands java and TLC's jar."""
    java = shutil.which("java")
    if java is None:
        raise ToolMissing("java is missing; 'make setup' installs it (Debian: default-jdk-headless)")
    named = os.environ.get("TLA2TOOLS")
    jar = Path(named) if named else build / "tools" / "tla2tools.jar"
    if not jar.is_file():
        raise ToolMissing(
            f"TLC is missing: TLA2TOOLS={named} is no file"
            if named
            else f"TLC is missing: no {jar}; 'rm -f {build}/setup/tlc.stamp; make setup' brings it, "
            "or set TLA2TOOLS=/path/to/tla2tools.jar"
        )
    return java, jar.resolve()


def command(run: Run, build: Path, *, coverage: bool) -> tuple[list[str], Path]:
    """The command line for TLC, and the folder to start it in. Makes an empty folder for TLC's own files."""
    folder = scratch(run, build)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    line = java(run, build, folder, quick=run.kind != "large")
    return [*line, "tlc2.TLC", *arguments(run, build, coverage=coverage)], run.module.parent


def scratch(run: Run, build: Path) -> Path:
    """The folder for what TLC writes in a run, its output among it."""
    return (build / "model" / run.stem / run.name).resolve()


def java(run: Run, build: Path, temporary: Path, *, quick: bool) -> list[str]:
    """The command line up to the main class. `quick`: for runs of seconds, which the JIT compiler would slow."""
    program, jar = find(build)
    jars, archive = [jar, batch_jar(build)], batch_jar(build).with_name("tlc.jsa")
    return [
        program,
        "-Xmx4g",
        "-XX:+UseSerialGC",
        *(["-XX:TieredStopAtLevel=1"] if quick else []),
        # An archive of loaded classes. A JVM that cannot use it would say so on standard output.
        *([f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"] if archive.is_file() else []),
        # TLC unpacks its standard modules here; two runs at once must not share the folder.
        f"-Djava.io.tmpdir={temporary}",
        f"-DTLA-Library={library(run, build)}",
        "-cp",
        os.pathsep.join(str(path) for path in jars if path.is_file()),
    ]


def by_hand(run: Run, build: Path) -> str:
    """The command line for people."""
    _, jar = find(build)
    options = [f"-DTLA-Library={library(run, build)}", "-cp", str(jar), "tlc2.TLC"]
    arguments = ["-lncheck", "seqfinal", "-metadir", str(scratch(run, build))]
    config = ["-config", str(cfg.write(run, build).resolve())]
    return f"cd {run.module.parent} && {shlex.join(['java', *options, *arguments, *config, run.module.stem])}"


def batch_jar(build: Path) -> Path:
    """Where Batch.java is, compiled."""
    return (build / "model" / "java" / "batch.jar").resolve()


def library(run: Run, build: Path) -> str:
    """The folders of further modules: the common ones, and those generated from traces."""
    return f"{(run.module.parent.parent / 'common').resolve()}{os.pathsep}{(build / 'model' / run.stem).resolve()}"


def arguments(run: Run, build: Path, *, coverage: bool) -> list[str]:
    """TLC's own arguments.

    One worker: depth and the length of a counterexample are then the same in every run. Liveness is checked at the end:
    TLC would otherwise check it at times of the clock, and what it finds would differ. One property after the other:
    two threads of TLC that print a counterexample at once read one file, and once one met its end (EOFException).
    """
    line = ["-tool", "-workers", "1", "-fp", "0", "-lncheck", "seqfinal", "-metadir", str(scratch(run, build))]
    line += ["-coverage", "60"] if coverage else []
    return [*line, "-config", str(cfg.write(run, build).resolve()), run.module.stem]


def messages(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """The messages of a ``-tool`` output: (code, class, text). What stands between messages is left out."""
    code, severity, text = 0, "", None
    for line in lines:
        if start := START.search(line):
            code, severity, text = int(start[1]), start[2] or "0", list[str]()
        elif END.search(line):
            if text is not None:
                yield code, severity, "\n".join(text).strip()
            text = None
        elif text is not None:
            text.append(line.rstrip("\n"))


def number(text: str) -> int:
    """A count as TLC prints it, with or without commas."""
    return int(text.replace(",", ""))


def parse(output: str, exit_code: int, properties: Sequence[str]) -> Outcome:
    """Judge the whole output of TLC together with its exit code. A run without a clear end is an error.

    properties: those that the run checks beside its invariants. TLC doesn't name the one that fails for ever.
    """
    seen = Outcome()
    violated: list[tuple[Sort, str]] = []
    errors: list[str] = []
    success = False
    states = 0
    taken: dict[str, int] = {}
    for code, severity, text in messages(output.splitlines()):
        if code == VERSION:
            seen.tool = " ".join(text.split()[:3]).replace("TLC2 Version", "TLC")
        elif code == SUCCESS:
            success = True
        elif code == DEPTH and (depth := DEPTH_IS.search(text)):
            seen.depth = number(depth[1])
        elif code == STATS and (counts := COUNTS.search(text)):
            seen.total, seen.distinct = number(counts[1]), number(counts[2])
        elif code == COVERAGE_NEXT and (action := COVERED.search(text)):
            # Coverage is printed several times; the last one counts.
            taken[text.split(">:")[0]] = int(action[2])
        elif code in NAMED_VIOLATIONS:
            match = NAMED.search(text)
            violated.append((NAMED_VIOLATIONS[code], match[1] if match else text))
        elif code == DEADLOCK:
            violated.append(("deadlock", "deadlock"))
        elif code == TEMPORAL:
            name = properties[0] if len(properties) == 1 else f"one of {', '.join(properties)}"
            violated.append(("liveness", name))
        elif code in STATES:
            states += 1
        elif code == ASSUMPTION_FALSE or (severity == ERROR_CLASS and not violated):
            errors.append(text)
    seen.actions = len(taken)
    seen.never_taken = sorted(action.split()[0].lstrip("<") for action, times in taken.items() if times == 0)
    if violated and exit_code in (11, 12, 13):
        seen.result, (seen.sort, seen.property), seen.trace_length = "violation", violated[0], max(states, 1)
    elif success and exit_code == 0 and not errors and not violated and seen.distinct is not None:
        seen.result = "success"
    else:
        # The parser reports errors in a module outside the messages.
        unparsed = UNPARSED.search(output)
        said = unparsed[1] if unparsed else errors[0] if errors else "no verdict"
        said = " ".join(said.split())[:400]
        seen.reason = f"TLC ended with exit code {exit_code}: {said}"
    return seen
