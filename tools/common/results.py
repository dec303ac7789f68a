# SPDX-License-Identifier: PostgreSQL
"""The one form of a result: build/results/LAYER/STEM.json, a file for each layer and stem.

Under PGQUERN_CPU=LEVEL the folder is LAYER-LEVEL, so that no result of the whole CPU is overwritten.
PGQUERN_RESULTS=FOLDER takes the place of build/results: a shard of a layer's work writes there, and builds there what
is its own, so that it can run beside others. `make farm` joins the shards.
A layer's driver calls write(); the summary, the report and the figures call load().
"""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tools.common import environment

APART = os.environ.get("PGQUERN_RESULTS", "")
"""The folder of a shard; empty for what people run. A part of the work writes its result there, and nowhere else."""
RESULTS = Path(APART or "build/results")
QUICK = "-quick"
"""The end of a layer's name in a first look (`make quick`). No report has these: a whole run of the layer says more."""

Status = Literal["passed", "failed", "skipped"]


class Item(BaseModel):
    """One thing that ran: a model, a theorem, a test, a mutant, a configuration. A layer may add fields of its own."""

    model_config = ConfigDict(extra="allow")

    name: str
    status: Status
    seconds: float = 0.0
    reason: str = ""
    """Why it failed or was skipped; empty if it passed."""


class Result(BaseModel):
    """What one layer did for one stem. A layer may add fields of its own."""

    model_config = ConfigDict(extra="allow")

    layer: str
    stem: str
    says: str
    """One line for people."""
    finished: datetime
    seconds: float
    commit: str
    cpu: str
    cpu_level: str
    """PGQUERN_CPU, or "all"."""
    tools: dict[str, str]
    items: list[Item]

    def count(self, status: Status) -> int:
        """How many items ended so."""
        return sum(item.status == status for item in self.items)

    @property
    def label(self) -> str:
        """The layer, and the level of the CPU if features were hidden."""
        return self.layer if self.cpu_level == "all" else f"{self.layer}-{self.cpu_level}"

    @property
    def status(self) -> Status:
        """Failed if an item failed; skipped if nothing ran; passed otherwise."""
        if self.count("failed"):
            return "failed"
        return "passed" if self.count("passed") else "skipped"


def scratch(folder: Path) -> Path:
    """Where a program builds what is its own: in `folder`, a shard in one of the same name below its results'."""
    return Path(APART, "scratch", folder.name) if APART else folder


def write(
    layer: str,
    stem: str,
    items: Sequence[Mapping[str, Any]],
    *,
    says: str,
    tools: Mapping[str, str],
    seconds: float | None = None,
    folder: Path = RESULTS,
    of: Sequence[Result] = (),
    **more: Any,
) -> Result:
    """Write the result of a layer for a stem, in place of the one before.

    items: each with name and status ("passed", "failed" or "skipped"), and if it has them seconds, reason, fields of
    the layer's own. seconds: wall time; None takes the sum over the items. of: the shards
    that are joined in it, whose machines are named in place of this one. more: fields of the layer's own.
    """
    checked = [Item.model_validate(item) for item in items]
    result = Result(
        layer=layer,
        stem=stem,
        says=says,
        finished=datetime.now(UTC).replace(microsecond=0),
        seconds=round(sum(item.seconds for item in checked) if seconds is None else seconds, 3),
        commit=environment.commit(),
        cpu="; ".join(dict.fromkeys(shard.cpu for shard in of)) or environment.cpu(),
        cpu_level=environment.cpu_level(),
        tools=dict(tools),
        items=checked,
        **more,
    )
    path = folder / result.label / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result.model_dump_json(indent=1) + "\n")
    return result


def read(path: Path) -> Result:
    """One file. Raises ValueError, naming the file and what is wrong in it, if it is not a result."""
    try:
        return Result.model_validate_json(path.read_text())
    except ValidationError as error:
        raise ValueError(f"{path} is not a result ({error}); run the layer's target again") from error


def load(folder: Path = RESULTS, layer: str = "*", stem: str = "*") -> list[Result]:
    """Every result, sorted by layer and stem. Raises ValueError as read() does."""
    return [read(path) for path in sorted(folder.glob(f"{layer}/{stem}.json"))]


def whole(folder: Path = RESULTS) -> list[Result]:
    """Every result but those of a first look."""
    return [result for result in load(folder) if not result.layer.endswith(QUICK)]
