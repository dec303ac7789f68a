# SPDX-License-Identifier: PostgreSQL
"""The runs of the model checkers and their expected results: spec/STEM/models.toml, loaded and checked.

A file has base configurations and runs. ``[base.NAME]`` holds settings that runs share; a base may start from another
one (``base = "OTHER"``). ``[run.MODULE_KIND]`` or ``[run.MODULE_KIND_NAME]`` is one run of MODULE.tla: it starts from
the base named in ``base``, or from the base that is called MODULE, and lists what it changes::

    [base.MCpage]                                    # what the runs of MCpage.tla share
    specification = "Spec"                           # or: init = "Init" and next = "Next"
    constants = { Sessions = "{s1, s2}", Size = 4 }  # values as in TLA+
    definitions = { Lengths = "FewLengths" }         # a definition, and the one that replaces it
    invariants = ["TypeOK", "NothingLost"]

    [base.replay]
    base = "MCpage"
    constants = { Size = 8 }                         # changes Size, and keeps Sessions

    [run.MCpage_small]
    says = "Two sessions on a page of four cells: no tuple is lost."
    holds = { states = 1234, depth = 17 }

A table has short runs that start from one base, a line each, by the ends of their names::

    [runs.replay]
    reach_full = { says = "The page is full.", violates = { invariant = "NeverFull", trace = 5 } }

Other keys: constraints, action_constraints, properties (lists), symmetry, view, deadlock = false (states without a
successor are no error), length (Apalache: steps), seconds (planned CPU time). A list replaces the list of the base. A
run that must fail checks just the property that it violates, and those that it lists itself; the property is an
invariant, an action (a step violates it), liveness, or deadlock = true.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError, model_validator

MUST_FAIL = ("reach", "mutant", "bug")
COMPLETE = ("small", "large")
SYMBOLIC = ("laws", "base", "step", "implies")
NAME = re.compile(rf"(?P<module>\w+?)_(?P<kind>{'|'.join(MUST_FAIL + COMPLETE + SYMBOLIC)})(?:_\w+)?")
SECONDS, SECONDS_LARGE = 30, 300
"""CPU time that a run takes at most, if it does not say; that of a large one."""


class ModelError(ValueError):
    """A models.toml is wrong; the message names the file, the run, the key, and what to change."""


class Table(BaseModel):
    """A table of models.toml: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Settings(Table):
    """What a TLC configuration file can say. Values of constants are written as in TLA+."""

    specification: str | None = None
    init: str | None = None
    next: str | None = None
    constants: dict[str, StrictBool | StrictInt | StrictStr] = {}
    definitions: dict[str, str] = {}
    """A definition or constant of the module, and the definition that replaces it."""
    constraints: list[str] = []
    action_constraints: list[str] = []
    invariants: list[str] = []
    properties: list[str] = []
    symmetry: str | None = None
    view: str | None = None
    deadlock: bool = True
    """Whether a state without a successor is an error."""

    def changed_by(self, other: Settings) -> dict[str, Any]:
        """The settings after those that `other` sets; of constants and definitions single ones are replaced."""
        changes = {name: getattr(other, name) for name in other.model_fields_set & Settings.model_fields.keys()}
        merged = self.model_dump(exclude_unset=True, include=set(Settings.model_fields)) | changes
        for name in ("constants", "definitions"):
            if name in merged:
                merged[name] = getattr(self, name) | getattr(other, name)
        if "init" in changes or "next" in changes:
            merged.pop("specification", None)
        elif "specification" in changes:
            merged = {name: value for name, value in merged.items() if name not in ("init", "next")}
        return merged


class Base(Settings):
    """A base configuration."""

    base: str | None = None


class Holds(Table):
    """Everything was searched, and everything holds. Apalache counts no states."""

    states: int | None = None
    depth: int | None = None

    @property
    def shown(self) -> str:
        """What the run must show, in few words."""
        return "holds" if self.states is None else f"holds: {self.states:,} states, depth {self.depth}"


class Violates(Table):
    """One property fails, on a shortest trace of so many states. TLC finds no shortest trace where liveness fails."""

    invariant: str | None = None
    action: str | None = None
    """A property that a step violates."""
    liveness: str | None = None
    deadlock: bool = False
    trace: int | None = None

    @property
    def shown(self) -> str:
        """What the run must show, in few words."""
        return f"violates {self.property}" + (f", {self.trace} states" if self.trace else "")

    @property
    def property(self) -> str:
        """The name of what is violated."""
        return self.invariant or self.action or self.liveness or "deadlock"

    @model_validator(mode="after")
    def one_property(self) -> Self:
        if sum(map(bool, (self.invariant, self.action, self.liveness, self.deadlock))) != 1:
            raise ValueError("name exactly one of invariant, action, liveness, deadlock = true")
        if self.liveness and self.trace is not None:
            raise ValueError("a violation of liveness has no shortest trace; leave out 'trace'")
        return self


class Entry(Base):
    """A run as it is written."""

    says: str = Field(min_length=10)
    """What it shows, one English sentence."""
    holds: Holds | None = None
    violates: Violates | None = None
    seconds: int | None = None
    """CPU time that it takes at most. More is said and fails nothing."""
    length: int | None = None
    """Apalache: how many steps."""


class Traces(Table):
    """How recorded traces are read: which fields hold XIDs. "file.xip" is the field xip inside a field file."""

    xids: list[str]


class File(Table):
    """A whole models.toml."""

    traces: Traces | None = None
    base: dict[str, Base]
    run: dict[str, Entry] = {}
    runs: dict[str, dict[str, Entry]] = {}
    """By the base: the ends of the names, and the runs."""

    def entries(self) -> Iterator[tuple[str, str, Entry]]:
        """All runs: the name, the table that it stands in if that has several, the run as it is written."""
        yield from ((name, "", entry) for name, entry in self.run.items())
        for base, some in self.runs.items():
            root, seen = base, {base}
            while root in self.base and (under := self.base[root].base) and under not in seen:
                root = under
                seen.add(root)
            for end, entry in some.items():
                yield f"{root}_{end}", base, entry.model_copy(update={"base": base})


TABLES: dict[str, type[Table]] = {"run": Entry, "runs": Entry, "base": Base, "holds": Holds, "violates": Violates}
"""The tables by their names, for messages."""


@dataclass(frozen=True)
class Run:
    """One run of a model checker, with all its settings, and what is expected of it."""

    stem: str
    name: str
    module: Path
    kind: str
    says: str
    settings: Settings
    expected: Holds | Violates
    seconds: int
    length: int

    @property
    def key(self) -> str:
        return f"{self.stem}/{self.name}"

    @property
    def must_fail(self) -> bool:
        """Whether the run must end in a violation."""
        return isinstance(self.expected, Violates)

    @property
    def symbolic(self) -> bool:
        """Whether it is Apalache's and not TLC's."""
        return self.module.stem.startswith("AP")

    @property
    def properties(self) -> list[str]:
        """All that is checked in it."""
        return [*self.settings.invariants, *self.settings.properties]


def find(spec: Path, stem: str | None = None) -> list[Run]:
    """All runs under the folder of the models, or those of one stem, in the order of the files."""
    files = sorted(spec.glob("*/models.toml"))
    stems = [path.parent.name for path in files]
    if stem is not None and stem not in stems:
        raise ModelError(f"there are no models of '{stem}'; there are: {', '.join(stems)}")
    return [run for path in files if stem in (None, path.parent.name) for run in runs(path)]


def load(path: Path) -> File:
    """A models.toml, its keys and types checked."""
    try:
        return File.model_validate(tomllib.loads(path.read_text()))
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"{path}: {error}") from error
    except ValidationError as error:
        raise ModelError("\n".join(f"{path}: {complaint(one)}" for one in error.errors())) from error


def complaint(error: Any) -> str:
    """One error of pydantic as a message: where it is, and what to change."""
    where, wrong = error["loc"], error["msg"]
    table, keys = (f"{where[0]} {where[1]}", where[2:]) if len(where) > 1 else ("the file", where)
    if error["type"] == "extra_forbidden":
        known = TABLES.get(str(keys[0] if len(keys) > 1 else where[0]), File).model_fields
        near = difflib.get_close_matches(str(keys[-1]), known, 1)
        wrong = "unknown key; " + (f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}")
    return f"{table}: {'.'.join(map(str, keys))}: {wrong}" if keys else f"{table}: {wrong}"


def runs(path: Path) -> Iterator[Run]:
    """The runs of a models.toml, each with all its settings."""
    file = load(path)
    if twice := [name for name, n in Counter(name for name, _, _ in file.entries()).items() if n > 1]:
        raise ModelError(f"{path}: two runs are called {', '.join(twice)}")
    for name, _, entry in file.entries():
        try:
            yield resolve(path.parent, file, name, entry)
        except ModelError as error:
            raise ModelError(f"{path}: run {name}: {error}") from error


def resolve(folder: Path, file: File, name: str, entry: Entry) -> Run:
    """One run with the settings of its base."""
    match = NAME.fullmatch(name)
    if not match:
        raise ModelError(
            "the name must be MODULE_KIND or MODULE_KIND_NAME, KIND one of "
            f"{', '.join(MUST_FAIL + COMPLETE + SYMBOLIC)}"
        )
    module, kind = folder / f"{match['module']}.tla", match["kind"]
    if not module.is_file():
        raise ModelError(f"there is no module {module}")
    expected = entry.violates or entry.holds
    if expected is None or (entry.violates and entry.holds):
        raise ModelError("say 'holds = {}' or 'violates = { invariant = \"NAME\" }', one of them")
    if (kind in MUST_FAIL) != isinstance(expected, Violates):
        raise ModelError(f"'violates' is for the kinds {', '.join(MUST_FAIL)}, 'holds' for the others")
    merged = inherited(file, entry.base or module.stem).changed_by(entry)
    if isinstance(expected, Violates):
        # The base's properties are not looked at: a broken model may break them, too.
        merged |= {"invariants": entry.invariants, "properties": entry.properties}
        section = "invariants" if expected.invariant else "properties"
        if not expected.deadlock and expected.property not in merged[section]:
            merged[section] = [*merged[section], expected.property]
    seconds = entry.seconds or (SECONDS_LARGE if kind == "large" else SECONDS)
    run = Run(folder.name, name, module, kind, entry.says, Settings(**merged), expected, seconds, entry.length or 0)
    check(run, entry)
    return run


def inherited(file: File, name: str, seen: tuple[str, ...] = ()) -> Settings:
    """The settings of a base, with those of the base that it starts from."""
    if name not in file.base:
        raise ModelError(f"there is no base '{name}'; there are: {', '.join(file.base)}")
    if name in seen:
        raise ModelError(f"base '{name}' starts from itself: {' -> '.join([*seen, name])}")
    base = file.base[name]
    if base.base is None:
        return base
    return Settings(**inherited(file, base.base, (*seen, name)).changed_by(base))


def check(run: Run, entry: Entry) -> None:
    """What the types cannot say."""
    settings, expected = run.settings, run.expected
    if run.symbolic != (run.kind in SYMBOLIC) and not run.must_fail:
        raise ModelError(
            f"the kinds {', '.join(SYMBOLIC)} are for Apalache (modules AP*), {', '.join(COMPLETE)} for TLC"
        )
    if not run.symbolic and entry.length is not None:
        raise ModelError("'length' is for Apalache (modules AP*)")
    if (settings.specification is None) == (settings.init is None or settings.next is None):
        raise ModelError("give 'specification', or 'init' and 'next'")
    if settings.symmetry and settings.properties:
        raise ModelError("'symmetry' is not sound for liveness; leave it out where there are 'properties'")
    if isinstance(expected, Violates) and expected.liveness and settings.properties != [expected.liveness]:
        raise ModelError("TLC does not say which liveness property fails: check only that one")


def unbroken(found: Sequence[Run]) -> list[tuple[str, str, str]]:
    """Properties, as (stem, module, property), that a run claims to hold and that no run of the same module violates.

    Another module's mutant does not count: there the property may be about other definitions, and another tool may
    check it.
    """
    claimed = {(run.stem, run.module.stem, name) for run in found if not run.must_fail for name in run.properties}
    broken = {(run.stem, run.module.stem, run.expected.property) for run in found if isinstance(run.expected, Violates)}
    return sorted(claimed - broken)
