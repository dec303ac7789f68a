# SPDX-License-Identifier: PostgreSQL
"""What our code follows of upstream: spec/STEM/upstream.toml, a table for each function."""

import re
import tomllib
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from tools.common.matrix import with_cell
from tools.drift import source

LISTING = "spec/{stem}/upstream.toml"
SUMS = re.compile(r"^([\d-]+) = \"\w{64}\"\n", re.MULTILINE)


class Followed(BaseModel):
    """A function, macro or struct of upstream, and what of ours follows it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    files: list[str]
    """From the top of a checkout: where it stands, or stood in another major version."""
    follows: list[str]
    """Files of ours: look there first."""
    sha256: dict[str, str] = {}
    """By major version, of its text at that version's branch point; versions that lack it are left out.

    In the file several in a row that are the same stand in one line: 13-18.
    """

    @field_validator("sha256", mode="before")
    @classmethod
    def each(cls, sums: dict[str, str]) -> dict[str, str]:
        """One entry a version."""
        ranges = [(key.partition("-"), sum_) for key, sum_ in sums.items()]
        return {str(n): sum_ for (a, _, b), sum_ in ranges for n in range(int(a), int(b or a) + 1)}

    def text(self, top: Path) -> str:
        """Its definition in a checkout; "" if there is none."""
        paths = [top / file for file in self.files]
        found = (source.definition(path.read_text(errors="replace"), self.name) for path in paths if path.exists())
        return next((text for text in found if text), "")

    def same_as(self, sum_: str) -> list[str]:
        """The major versions that have this text."""
        return [major for major, known in self.sha256.items() if known == sum_]


def load(stem: str) -> list[Followed]:
    """In the order of the file."""
    listed = tomllib.loads(Path(LISTING.format(stem=stem)).read_text())["function"]
    return [Followed.model_validate(entry) for entry in listed]


def stems(stem: str = "") -> list[str]:
    """Those that follow something; `stem` narrows to one."""
    return with_cell(LISTING, stem)


def record(stem: str, major: str, sums: dict[str, str]) -> None:
    """Writes the checksums of one major version; a function that the version lacks loses its line."""
    path = Path(LISTING.format(stem=stem))
    head, *tables = re.split(r"(?m)^(?=\[\[function\]\])", path.read_text())
    written = [head]
    for table in tables:
        entry = Followed.model_validate(tomllib.loads(table)["function"][0])
        known = {**entry.sha256, major: sums.get(entry.name, "")}
        there = sorted(int(number) for number in known if known[number])
        same = [(known[str(number)], number - place) for place, number in enumerate(there)]
        rows = [[str(n) for n, _ in row] for _, row in groupby(zip(there, same, strict=True), itemgetter(1))]
        lines = [f'{"-".join(dict.fromkeys([row[0], row[-1]]))} = "{known[row[0]]}"\n' for row in rows]
        body = SUMS.sub("", table).replace("[function.sha256]\n", "").rstrip("\n")
        written.append(f"{body}\n[function.sha256]\n{''.join(lines)}\n")
    path.write_text("".join(written).rstrip("\n") + "\n")
