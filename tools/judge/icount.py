# SPDX-License-Identifier: PostgreSQL
"""Instructions of a candidate beside those of upstream's variants and of the one that it stands beside.

The shapes of inputs stand in tests/<stem>/judge.toml (`icount`), upstream's variants in bench/<stem>/goals.toml.
"""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from bench import goals
from bench.icount.run import Counter, Counts, Subject
from tools.common.kernels import kernel_sources
from tools.judge.build import Candidate, unwatched
from tools.judge.kinds import JudgeError, Kind
from tools.judge.run import Outcome
from tools.judge.source import variants_of
from tools.judge.verdict import Verdict

FLAGS = ("-O2", "-std=gnu11", "-Icsrc", "-Ibench")
CANDIDATE = "candidate"


def build(candidate: Candidate, cflags: Sequence[str]) -> Path:
    """The stem's counted calls with the candidate in its table. JudgeError."""
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


def upstreams(kind: Kind) -> list[str]:
    """The variants that are upstream's."""
    roles = goals.load(Path("bench", kind.stem, "goals.toml")).roles
    return [variant for variant in variants_of(kind) if any(variant in who.upstream for who in roles)]


def counted(candidate: Candidate, cflags: Sequence[str], *, decides: bool) -> Outcome:
    """A sentence: the candidate's instructions, shape by shape, beside those of the others. decides: and a verdict."""
    kind = candidate.kind
    upstream = upstreams(kind)
    beside = list(dict.fromkeys((*upstream, kind.like)))
    step = build(candidate, cflags)
    try:
        counts = count(step, kind.icount, [CANDIDATE, *beside])
    except click.ClickException as error:
        says = f"not counted: {error.message}"
        return Outcome(Verdict("UNDECIDED", f"its instructions were {says}") if decides else None, says)
    lines = []
    for shape, found in counts.items():
        others = ", ".join(f"{name} {found[name]:,}" for name in beside)
        lines.append(f"{shape}: {found[CANDIDATE]:,} ({others})")
    return Outcome(slower(counts, upstream) if decides else None, "; ".join(lines))


def slower(counts: Counts, upstream: Sequence[str]) -> Verdict | None:
    """The verdict if the candidate takes more instructions than each of upstream's variants on one of the shapes."""
    ratios = {shape: found[CANDIDATE] / min(found[name] for name in upstream) for shape, found in counts.items()}
    more = [shape for shape, ratio in ratios.items() if ratio > 1]
    if not more:
        return None
    worst = max(more, key=lambda shape: ratios[shape])
    return Verdict(
        "SLOWER",
        f"it answers as the oracle does, and takes more instructions than upstream on {len(more)} of {len(counts)} "
        f"inputs ({worst} most of all: {ratios[worst]:.2f} times as many)",
    )
