# SPDX-License-Identifier: PostgreSQL
"""Configurations: which models there are, and what each one must show.

A configuration is a file ``spec/STEM/MODULE_KIND[_NAME].cfg`` beside ``MODULE.tla``. Its kind is in its name; comments
at its head say, in English, what it shows, and, where it must fail, which property it violates::

    \\* says: Two half rings and more: precedes is no longer transitive.
    \\* violates: Transitive
    \\* seconds: 120            (optional: give up after so many; 300 if it doesn't say)
    \\* length: 1               (Apalache: how many steps; 0 if it doesn't say)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MUST_FAIL = ("reach", "mutant", "bug")
COMPLETE = ("small", "large")
SYMBOLIC = ("laws", "base", "step", "implies")
NAME = re.compile(rf"(?P<module>\w+?)_(?P<kind>{'|'.join(MUST_FAIL + COMPLETE + SYMBOLIC)})(?:_\w+)?")
HEADER = re.compile(r"^\\\*\s*(says|violates|seconds|length):\s*(.+?)\s*$", re.MULTILINE)
SECTION = re.compile(r"^\s*(INVARIANTS?|PROPERT(?:Y|IES))\b(.*?)(?=^\s*[A-Z_]{4,}\b|\Z)", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"\\\*.*$", re.MULTILINE)


class ConfigError(ValueError):
    """A configuration that the runner can't make sense of; the message names the file and what to change."""


@dataclass(frozen=True)
class Config:
    """One run of a model checker: a module, a configuration, and what is expected of them."""

    path: Path
    module: Path
    kind: str
    says: str
    violates: str | None
    seconds: float
    length: int

    @property
    def stem(self) -> str:
        """The subject: the folder's name."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def must_fail(self) -> bool:
        """Whether the run must end in a violation (of ``violates``)."""
        return self.kind in MUST_FAIL

    @property
    def symbolic(self) -> bool:
        """Whether it is Apalache's and not TLC's."""
        return self.module.stem.startswith("AP")

    @property
    def small(self) -> bool:
        """Whether it takes seconds."""
        return self.kind != "large"


def properties(text: str, kind: str = "") -> list[str]:
    """Names under INVARIANT(S) and PROPERTY (PROPERTIES), in order; ``kind`` narrows to sections that start so."""
    sections = SECTION.findall(COMMENT.sub("", text))
    return [name for section, names in sections if section.startswith(kind) for name in names.split()]


def read(path: Path) -> Config:
    """Read a configuration's name and head."""
    match = NAME.fullmatch(path.stem)
    if not match:
        raise ConfigError(
            f"{path}: the name must be MODULE_KIND.cfg or MODULE_KIND_NAME.cfg, KIND one of "
            f"{', '.join(COMPLETE + MUST_FAIL + SYMBOLIC)}"
        )
    module, kind = path.with_name(match["module"] + ".tla"), match["kind"]
    if not module.is_file():
        raise ConfigError(f"{path}: there is no module {module} for it")
    text = path.read_text()
    head = dict(HEADER.findall(text))
    if "says" not in head:
        raise ConfigError(f"{path}: the head must have a line '\\* says: ...', one English sentence")
    if (kind in MUST_FAIL) != ("violates" in head):
        raise ConfigError(
            f"{path}: '\\* violates: PROPERTY' is for the kinds {', '.join(MUST_FAIL)}, and only for them"
        )
    if "violates" in head and head["violates"] != "deadlock" and head["violates"] not in properties(text):
        raise ConfigError(f"{path}: violates {head['violates']}, which is not among the properties that it checks")
    if module.stem.startswith("AP") != (kind in SYMBOLIC) and kind not in MUST_FAIL:
        raise ConfigError(
            f"{path}: the kinds {', '.join(SYMBOLIC)} are for Apalache (modules AP*), {', '.join(COMPLETE)} for TLC"
        )
    return Config(
        path,
        module,
        kind,
        head["says"],
        head.get("violates"),
        float(head.get("seconds", 300)),
        int(head.get("length", 0)),
    )


def unbroken(found: list[Config]) -> list[str]:
    """Properties, as STEM/PROPERTY, that some run claims to hold and no run that must fail violates."""
    claimed = {(one.stem, name) for one in found if not one.must_fail for name in properties(one.path.read_text())}
    broken = {(one.stem, one.violates) for one in found if one.must_fail}
    return sorted(f"{stem}/{name}" for stem, name in claimed - broken)


def discover(spec: Path, stem: str | None = None) -> list[Config]:
    """All configurations under the folder of the models (or those of one stem), by path."""
    if stem is not None and not (spec / stem).is_dir():
        raise ConfigError(
            f"there are no models of '{stem}'; there are: "
            f"{', '.join(sorted({path.parent.name for path in spec.glob('*/*.cfg')}))}"
        )
    found = [read(path) for path in sorted(spec.glob(f"{stem or '*'}/*.cfg"))]
    if not found:
        raise ConfigError(f"no configuration found in {spec / (stem or '')}")
    return found
