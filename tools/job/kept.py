# SPDX-License-Identifier: PostgreSQL
"""What the steps of a job printed: build/job/NAME/ keeps it, for `make claims-check`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, TypeAdapter

KEPT = Path("build/job")


class Kept(BaseModel):
    """A step that has run."""

    step: str
    """A target of make with its variables: "world MINUTES=1"."""
    failed: bool
    log: Path

    @classmethod
    def load(cls, path: Path) -> list[Self]:
        """The steps of a job, in their order."""
        return TypeAdapter(list[cls]).validate_json(path.read_bytes())  # type: ignore[valid-type]


def write(path: Path, steps: Sequence[Kept]) -> None:
    path.write_bytes(TypeAdapter(list[Kept]).dump_json(list(steps), indent=1))
