# SPDX-License-Identifier: PostgreSQL
"""Instructions of a candidate beside those of upstream's first variant and of the one that it stands beside."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from bench.icount.run import Counter, Counts, Subject
from tests.runners.judge_build import Candidate, unwatched
from tests.runners.judge_kinds import JudgeError
from tests.runners.judge_run import Outcome
from tests.runners.judge_source import variants_of
from tools.kernels import kernel_sources

FLAGS = ("-O2", "-std=gnu11", "-Icsrc", "-Ibench")
CANDIDATE = "candidate"


def build(candidate: Candidate, cflags: Sequence[str]) -> Path:
    """The row's counted calls with the candidate in its table. JudgeError."""
    stem, folder = candidate.kind.stem, candidate.folder / "icount"
    folder.mkdir(parents=True, exist_ok=True)
    own = candidate.kind.table()
    objects = [Path("build/obj", s.relative_to("csrc")).with_suffix(".o") for s in kernel_sources() if s != own]
    parts = ["bench/icount/step.c", *Path("bench", stem).glob("*.c"), *unwatched(candidate, cflags, folder), *objects]
    libraries = ["-lpthread", *(["-lstdc++"] if candidate.is_cplusplus else [])]
    made = subprocess.run(
        ["gcc", *FLAGS, *map(str, parts), *libraries, *shlex.split(candidate.flags), "-o", str(folder / "step")],
        capture_output=True, text=True,
    )  # fmt: skip
    if made.returncode:
        raise JudgeError(f"{candidate.source} does not link into the counted calls:\n{made.stderr[-3000:]}")
    return folder / "step"


def count(step: Path, shapes: Sequence[str], variants: Sequence[str]) -> Counts:
    """By callgrind; if it does not know an instruction of one, all by single-stepping. ClickException."""
    ours = [variant for variant in variants if variant != CANDIDATE]
    by_callgrind = Subject(upstream=ours, ours=[CANDIDATE], stepped=[], cross_checked=[], shapes=list(shapes))
    try:
        return Counter(step, by_callgrind).count(list(variants))
    except click.ClickException:
        return Counter(step, by_callgrind.model_copy(update={"stepped": list(variants)})).count(list(variants))


def counted(candidate: Candidate, cflags: Sequence[str]) -> Outcome:
    """A sentence: the candidate's instructions, shape by shape, beside those of the others."""
    kind = candidate.kind
    beside = list(dict.fromkeys((variants_of(kind)[0], kind.like)))
    step = build(candidate, cflags)
    try:
        counts = count(step, kind.icount, [CANDIDATE, *beside])
    except click.ClickException as error:
        return Outcome(None, f"not counted: {error.message}")
    lines = []
    for shape, found in counts.items():
        others = ", ".join(f"{name} {found[name]:,}" for name in beside)
        lines.append(f"{shape}: {found[CANDIDATE]:,} ({others})")
    return Outcome(None, "; ".join(lines))
