# SPDX-License-Identifier: PostgreSQL
"""The layer of the programs around the extracted proofs: they read questions and call the proved functions.

Such a program is not proved itself. All proved algorithms of a kind give the same results, so one that called the wrong
one might go unseen: beside universalmutator's rules, each call of a function becomes one of another of like name.
"""

import re
import resource
import shutil
import subprocess
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from proofs.changes import source
from tests.changes import lines, nodes
from tests.changes.build import ROOT
from tests.changes.change import Change, Tried, Verdict
from tests.changes.killers import WHOLE_CPU, Broken
from tools.common import matrix, watch

SOURCES = Path("proofs/oracle")
PROVED = Path("build/oracle")
NAME = re.compile(r"\b([a-z]+_)\w+\b")


def sources(stem: str) -> list[str]:
    """The programs of a stem."""
    found = [SOURCES / f"{stem}.ml", *SOURCES.glob(f"{stem}_*.ml")]
    return sorted(str(path) for path in found if path.exists() and stem in matrix.stems())


def other_names(file: str) -> list[Change]:
    """Each use of a name becomes the next one of those that begin with the same word."""
    text = Path(file).read_text()
    names = sorted({found[0] for found in NAME.finditer(text)})
    changes = []
    for found in NAME.finditer(text):
        alike = [name for name in names if name.startswith(found[1])]
        other = alike[(alike.index(found[0]) + 1) % len(alike)]
        if other != found[0] and not text[: found.start()].endswith(("let ", "rec ", "and ")):
            nth = len(re.findall(rf"\b{found[0]}\b", text[: found.start()]))
            rank = f"{zlib.crc32(repr((file, found[0], other, nth)).encode()):08x}"
            says = f"{found[0]}  ->  {other} ({nth})"
            changes.append(Change(file, ((found.start(), found.end(), other),), f"{file} {rank}", says, rank))
    return changes


def limit_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (WHOLE_CPU, resource.RLIM_INFINITY))


@dataclass
class Extracted:
    """A stem's programs; the tests that ask them must fail."""

    stem: str

    def changes(self) -> Sequence[Change]:
        return [change for file in sources(self.stem) for change in (*lines.of_file(file), *other_names(file))]

    def reads(self) -> Sequence[str]:
        return ["csrc", "ref", "tests/changes", f"tests/{self.stem}", *sources(self.stem), "build/oracle"]

    def folder(self, change: Change) -> Path:
        return ROOT / self.stem / "extracted" / change.rank

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        if source.blanked(Path(change.file).read_text()).split() == source.blanked(change.text()).split():
            return "equivalent", b""  # a comment
        before, after = (self.compile(change, text) for text in (Path(change.file).read_text(), change.text()))
        if not after:
            return "refused", b""
        return ("equivalent", b"") if before == after else (None, after)

    def compile(self, change: Change, text: str) -> bytes:
        """The code of a program; nothing if OCaml refuses it."""
        name, folder = Path(change.file).stem, self.folder(change)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for extracted in (PROVED / f"{name}.build").glob(f"{name}_proved.*"):
            shutil.copy(extracted, folder)
        (folder / f"{name}.ml").write_text(text)
        command = ["ocamlfind", "ocamlopt", "-w", "-a", "-S", f"{name}_proved.cmx", f"{name}.ml", "-o", name]
        done = subprocess.run(command, cwd=folder, capture_output=True)
        return (folder / f"{name}.s").read_bytes() if done.returncode == 0 else b""

    def attempt(self, change: Change) -> Tried:
        folder = self.folder(change)
        names = ["test_extracted*.py", "test_operations.py", "test_scans*.py"]
        tests = [str(path) for name in names for path in sorted(Path("tests", self.stem).glob(name))]
        for other in PROVED.glob("*"):
            if other.is_file() and not (folder / other.name).exists():
                (folder / other.name).symlink_to(other.resolve())
        node = self.ask(tests, folder, folder / "log")
        if node and (unchanged := self.ask([node], PROVED, folder / "control")):
            raise Broken(f"{unchanged} fails with the program as it is: {folder}/control")
        if node:
            shutil.rmtree(folder)
        return Tried.of(change, node)

    def ask(self, tests: Sequence[str], oracles: Path, log: Path) -> str:
        """The first test that fails with the programs in a folder, or waits for ever."""
        variables = {"PGQUERN_ORACLES": str(oracles.resolve()), "PGQUERN_PROFILE": "brief", "PGQUERN_RESULT": ""}
        options = [option for option in nodes.OPTIONS if option != "-q"]
        command = [sys.executable, "-m", "pytest", *options, "-v", *tests]
        code, asleep, said = watch.run(command, log, variables, limit_cpu)
        if code == pytest.ExitCode.OK and not asleep:
            return ""
        ran = re.findall(r"^(tests/\S+::\S.*?)(?: (?:PASSED|FAILED|SKIPPED|ERROR).*)?$", said, re.MULTILINE)
        failed = re.findall(r"^(?:FAILED|ERROR) (tests/\S+)", said, re.MULTILINE)
        return (failed or ran or tests)[-1]
