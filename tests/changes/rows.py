# SPDX-License-Identifier: PostgreSQL
"""The layers whose changes the tests tell: C, the oracles, the binding, and what a person thought of."""

import platform
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.changes import hand, lines
from tests.changes.build import PACKAGE, Compilers, Workshop
from tests.changes.change import Change, Killer, Tried, Verdict
from tests.changes.emulated import Emulated
from tests.changes.killers import Sanitizers, Tests, Threads, World
from tools.common import matrix
from tools.common.kernels import foreign_levels

COMMON = "common"
"""In the place of a stem: what all kernels share."""
READ = ["csrc", "ref", "tests/conftest.py", "tests/world", "tests/changes"]


def sources_of_c(stem: str) -> list[str]:
    """A stem's C but for the public header, which holds no code; what it has from a template in csrc/common, too."""
    foreign = foreign_levels(platform.machine())
    found = [path for path in Path("csrc", stem).glob("*.[ch]") if path.name != f"{stem}.h"]
    found = [path for path in found if not path.stem.endswith(foreign) and not path.stem.endswith("_template")]
    text = "".join(path.read_text() for path in found)
    found += [path for path in Path("csrc/common").glob("*_template.h") if f'"common/{path.name}"' in text]
    found += [path for path in Path("csrc", stem).glob("*_template.h") if stem != COMMON]
    return sorted(map(str, set(found)))


def sources_of_oracle(stem: str) -> list[str]:
    return [path] if Path(path := f"ref/{stem}.py").exists() else []


def sources_of_binding(stem: str) -> list[str]:
    """The stem's module of the binding; in common what is of no stem."""
    if stem != COMMON:
        return [str(path)] if (path := PACKAGE / f"{stem}.py").exists() else []
    own = [path for path in PACKAGE.glob("*.py") if path.stem not in (*matrix.stems(), "__init__")]
    return sorted(map(str, own))


SOURCES = {"C": sources_of_c, "oracle": sources_of_oracle, "binding": sources_of_binding}


def tests_of(stem: str, layer: str) -> list[str]:
    """The fast tests of the stem's kernels, and of its oracle."""
    names = ["test_kernels*.py", "test_extracted.py", *(["test_oracle*.py"] if layer == "oracle" else [])]
    found = [str(path) for name in names for path in sorted(Path("tests", stem).glob(name))]
    return list(dict.fromkeys([*found, *hand.load(stem).tests]))


class Tested:
    """A stem in one of these layers."""

    def __init__(self, stem: str, layer: str, compilers: Compilers) -> None:
        self.stem, self.layer, self.compilers = stem, layer, compilers
        self.workshop = Workshop(stem, layer, compilers, strict=layer != "hand")
        self.killers: list[Killer] = [Tests(self.workshop, tests_of(stem, layer))]
        if layer == "C":
            self.killers += [World(self.workshop), Sanitizers(self.workshop)]

    def changes(self) -> Sequence[Change]:
        return [change for file in SOURCES[self.layer](self.stem) for change in lines.of_file(file)]

    def reads(self) -> Sequence[str]:
        return [*READ, f"tests/{self.stem}", f"proofs/oracle/{self.stem}.ml", "build/oracle"]

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        return self.workshop.build(change)

    def attempt(self, change: Change) -> Tried:
        built = self.workshop.built[change.name]
        by, lacks = "", self.compilers.plain.lacks(change.file)
        same = False
        for killer in [] if lacks else self.killers:
            by, skipped = killer.tell(change)
            lacks = lacks or skipped
            if by or (same := self.workshop.same_by_clang(built)):
                break
        tried = Tried(change, "equivalent") if same else Tried.of(change, by, lacks)
        if tried.verdict != "survived":
            shutil.rmtree(built.folder)
        return tried


class ByHand(Tested):
    """What a person thought of, in tests/<stem>/changes.toml: all its killers must tell."""

    def __init__(self, stem: str, compilers: Compilers) -> None:
        super().__init__(stem, "hand", compilers)
        self.tests: dict[str, Tests] = {}

    def changes(self) -> Sequence[Change]:
        return [entry.change() for entry in hand.load(self.stem).change]

    def killer(self, named: str) -> Killer:
        """What a list calls so."""
        word, _, number = named.partition(" ")
        if word == "world":
            return World(self.workshop, int(number or -1))
        others: dict[str, Callable[[Workshop], Killer]]
        others = {"threads": Threads, "sanitizers": Sanitizers, "cross": Emulated}
        if word in others:
            return others[word](self.workshop)
        return self.tests.setdefault(named, Tests(self.workshop, [named]))

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        """It must be one: what does not compile is a mistake in the list."""
        if set(change.killers) <= {"threads", "cross"}:
            return None, b""
        fate, code = self.workshop.build(change)
        if fate:
            raise hand.ListError(f"change {change.name} is {fate}; correct `new`")
        return None, code

    def attempt(self, change: Change) -> Tried:
        told, skipped, quiet = list[str](), self.compilers.plain.lacks(change.file), ""
        for named in change.killers if not skipped else []:
            by, skipped = self.killer(named).tell(change)
            if not by:
                quiet = f"{named} does not tell it"
                break
            told.append(by)
        shutil.rmtree(self.workshop.root / change.rank, ignore_errors=True)
        if quiet and not skipped:
            return Tried(change, "survived", "; ".join(told), quiet)
        return Tried.of(change, "" if quiet else "; ".join(told), skipped)
