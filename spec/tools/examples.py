# SPDX-License-Identifier: PostgreSQL
"""A subject's models as a folder for the collection of examples of the TLA+ community (github.com/tlaplus/Examples).

Its CONTRIBUTING.md asks for: all modules and configurations in one flat folder, each configuration with its module's
name first; a model that ends in less than 10 seconds and one that fails in an interesting way; a README.md; and a
manifest.json with what each model shows. The folder is checked as their CI would: TLC alone, without our driver.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec.tools import cfg, tlc
from spec.tools.models import ModelError, Run, Violates

AUTHORS = ["The pgquern authors"]
NEEDS = re.compile(r"^EXTENDS\s+(\w+(?:\s*,\s*\w+)*)|\bINSTANCE\s+(\w+)", re.MULTILINE)
COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
ENDED = {0: "success", 10: "assumption failure", 11: "deadlock failure", 12: "safety failure", 13: "liveness failure"}
"""TLC's exit codes (tlc2.output.EC.ExitStatus), in the manifest's words."""
LONGEST = 60
"""Seconds that no model takes that is offered, as models.toml plans it."""


@dataclass(frozen=True)
class Model:
    """A run as the manifest tells it."""

    run: Run
    result: str
    seconds: float
    generated: int
    distinct: int
    depth: int


def offered(found: Sequence[Run]) -> list[Run]:
    """The runs of TLC that anyone can repeat: not the large ones, and not those that read recorded traces."""
    return [
        run
        for run in found
        if not run.symbolic
        and run.kind != "large"
        and not run.module.stem.startswith("Trace")
        and run.seconds <= LONGEST
    ]


def modules(root: Path, spec: Path) -> set[Path]:
    """A module and all that it extends or instantiates, but for those that come with TLC."""
    seen: set[Path] = set()
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        for extended, instance in NEEDS.findall(COMMENT.sub("", module.read_text())):
            for name in re.findall(r"\w+", extended or instance):
                waiting += [p for p in (module.parent / f"{name}.tla", spec / "common" / f"{name}.tla") if p.is_file()][
                    :1
                ]
    return seen


def expected(run: Run) -> str:
    """What the run must end with, in the manifest's words. To TLC's exit code all properties are of liveness, also
    those that a single step violates."""
    if not isinstance(run.expected, Violates):
        return "success"
    if run.expected.deadlock:
        return "deadlock failure"
    return "safety failure" if run.expected.invariant else "liveness failure"


def check(run: Run, build: Path, folder: Path) -> Model:
    """Run TLC on the folder, with nothing else of ours. ModelError: it does not end as the run must."""
    java, jar = tlc.find(build)
    states = folder.resolve().parent / "states"
    line = [
        java,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        str(jar),
        "tlc2.TLC",
        "-workers",
        "1",
        "-metadir",
        str(states),
    ]
    began = time.monotonic()
    done = subprocess.run(
        [*line, "-config", f"{run.name}.cfg", run.module.name], cwd=folder, capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    shutil.rmtree(states, ignore_errors=True)
    result = ENDED.get(done.returncode, f"exit code {done.returncode}")
    if result != expected(run):
        raise ModelError(f"{folder}: {run.name} ends with {result}, not {expected(run)}:\n{done.stdout[-2000:]}")
    generated, distinct = (int(told.replace(",", "")) for told in tlc.COUNTS.findall(done.stdout)[-1])
    depth = tlc.DEPTH_IS.search(done.stdout)
    return Model(run, result, seconds, generated, distinct, int(depth[1].replace(",", "")) if depth else 0)


def clock(seconds: float) -> str:
    """HH:MM:SS, a second at least."""
    whole = max(1, round(seconds))
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def entry(model: Model, within: str) -> dict[str, Any]:
    """A model of the manifest. Counts are told of what was searched whole."""
    told: dict[str, Any] = {
        "path": f"{within}/{model.run.name}.cfg",
        "runtime": clock(model.seconds),
        "mode": "exhaustive search",
        "result": model.result,
    }
    if model.result == "success":
        told |= {"distinctStates": model.distinct, "totalStates": model.generated, "stateDepth": model.depth}
    return told


def manifest(folder: Path, models: Sequence[Model], source: str) -> dict[str, Any]:
    """The whole manifest.json."""
    within = f"specifications/{folder.name}"
    return {
        "sources": [source] if source else [],
        "authors": AUTHORS,
        "tags": [],
        "modules": [
            {
                "path": f"{within}/{module.name}",
                "features": [],
                "models": [entry(model, within) for model in models if model.run.module.name == module.name],
            }
            for module in sorted(folder.glob("*.tla"))
        ],
    }


def readme(stem: str, models: Sequence[Model], title: str) -> Iterator[str]:
    """README.md: what it is, and what each model shows."""
    yield f"# {title}"
    yield ""
    yield f"Models of pgquern, its subject `{stem}`. Each configuration says in its first line what it shows."
    yield ""
    yield "| model | result | what it shows |"
    yield "|---|---|---|"
    for model in models:
        broken = model.run.expected
        of = f" of `{broken.property}`" if isinstance(broken, Violates) else ""
        yield f"| `{model.run.name}` | {model.result}{of} | {model.run.says} |"


def export(
    stem: str, runs: Sequence[Run], spec: Path, build: Path, into: Path, source: str, ended: Callable[[], None]
) -> Path:
    """Write the folder of a subject under `into`, each model checked in it; `ended` is called after each."""
    folder = into / f"pgquern_{stem}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not (wanted := offered(runs)):
        raise ModelError(f"{stem} has no model that can be offered: none is of TLC, without traces, within {LONGEST} s")
    for module in {needed for run in wanted for needed in modules(run.module, spec)}:
        shutil.copy(module, folder)
    models = []
    for run in wanted:
        (folder / f"{run.name}.cfg").write_text("\n".join(cfg.lines(run)) + "\n")
        models.append(check(run, build, folder))
        ended()
    if all(model.result == "success" for model in models):
        raise ModelError(f"{stem}: the collection asks for a model that fails in an interesting way")
    (folder / "manifest.json").write_text(json.dumps(manifest(folder, models, source), indent=2) + "\n")
    page = spec / stem / "README.md"
    title = page.read_text().partition("\n")[0].lstrip("# ") if page.is_file() else stem
    (folder / "README.md").write_text("\n".join(readme(stem, models, title)) + "\n")
    return folder
