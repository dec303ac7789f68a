# SPDX-License-Identifier: PostgreSQL
"""What there is to do: the shards of each kind of work, as the project's own targets list them."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tools.common import shards
from tools.common.shards import Shard

KINDS = Path("tools/farm/farm.toml")
FARM = Path("build/farm")
LIST = FARM / "list.json"
TREE = FARM / "tree"
"""The state of the sources at the last `make farm`. Its time is that of their last change: older shards are stale."""
HOUSE = "house"
"""The stem of what belongs to no stem; no target is narrowed to it."""
OURS = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "STEM", "JOBS", "WHAT", "PROFILE")
"""Variables of the make that started us: its targets must not see them."""


class FarmError(RuntimeError):
    """The farm cannot begin, or its shards make no whole."""


class Kind(BaseModel):
    """One table of farm.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    layer: str
    join: bool = False
    mb: int
    minutes: int


class Work(BaseModel):
    """A shard of a kind of work, and how to run it: all that a job needs to know."""

    what: str
    kind: Kind
    shard: Shard

    @property
    def key(self) -> str:
        return f"{self.what}/{self.shard.stem}/{self.shard.name}"

    @property
    def command(self) -> list[str]:
        """For people, too: it repeats the shard."""
        return ["make", *self.kind.target.split(), *stem_word(self.shard.stem), *words(self.shard)]


def stem_word(stem: str) -> list[str]:
    """STEM=stem, but for what belongs to no stem."""
    return [] if stem == HOUSE else [f"STEM={stem}"]


def words(shard: Shard) -> list[str]:
    """The words that narrow a target."""
    return [f"{word}={value}" for word, value in shard.words.items()]


def kinds() -> dict[str, Kind]:
    """All kinds of work, by name."""
    return {name: Kind.model_validate(table) for name, table in tomllib.loads(KINDS.read_text()).items()}


def chosen(what: str) -> dict[str, Kind]:
    """The kinds that are named, or all. Raises FarmError if there is no such kind."""
    known, named = kinds(), what.replace(",", " ").split()
    if odd := [name for name in named if name not in known]:
        raise FarmError(f"there is no WHAT={odd[0]}; there are {', '.join(known)}")
    return {name: kind for name, kind in known.items() if not named or name in named}


def environment() -> dict[str, str]:
    """The environment of a target, as if people had started it."""
    return {name: value for name, value in os.environ.items() if name not in OURS}


def ask(what: str, kind: Kind, stem: str) -> list[Work]:
    """The shards of one kind. What they need is built on the way."""
    command = ["make", "-s", *kind.target.split(), "LIST=1", *([f"STEM={stem}"] if stem else [])]
    asked = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True)
    if asked.returncode:
        raise FarmError(f"`{' '.join(command)}` failed; what it needs is not there or is broken")
    found = [Work(what=what, kind=kind, shard=shard) for shard in shards.heard(asked.stdout)]
    return [work for work in found if stem in ("", work.shard.stem)]


def write(listed: list[Work]) -> None:
    """Write the list that the jobs and the merge read."""
    keys = [work.key for work in listed]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise FarmError(f"two shards have one name: {', '.join(twice)}")
    FARM.mkdir(parents=True, exist_ok=True)
    LIST.write_text(json.dumps({work.key: work.model_dump() for work in listed}, indent=1) + "\n")


def read() -> list[Work]:
    """The list of the last `make farm`."""
    if not LIST.is_file():
        raise FarmError(f"there is no {LIST}; `make farm` makes it")
    return [Work.model_validate(work) for work in json.loads(LIST.read_text()).values()]


def state() -> str:
    """The state of the sources, documents apart, as git names it."""
    index = os.environ | {"GIT_INDEX_FILE": str((FARM / "index").resolve())}
    FARM.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["git", "add", "--all", "--", ".", ":!*.md"], env=index, check=True, capture_output=True)
        return subprocess.run(["git", "write-tree"], env=index, check=True, capture_output=True, text=True).stdout[:20]
    except (OSError, subprocess.CalledProcessError) as error:
        raise FarmError("the farm needs a git checkout: it tells by that whether sources have changed") from error


def mark() -> str:
    """Write the state down, if it has changed."""
    now = state()
    if not TREE.is_file() or TREE.read_text() != now:
        TREE.write_text(now)
    return now
