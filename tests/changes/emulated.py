# SPDX-License-Identifier: PostgreSQL
"""The layer of kernels that another machine's CPU runs: the fuzz target on random inputs, under qemu, must fail."""

import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.changes import lines
from tests.changes.build import SOURCES, Workshop
from tests.changes.change import Change, Tried, Verdict
from tests.runners.cross import INPUTS, Cross
from tools.common.kernels import foreign_levels

MACHINE = "x86_64" if platform.machine() == "aarch64" else "aarch64"


def sources(stem: str) -> list[str]:
    """What only the other machine compiles."""
    foreign = foreign_levels(platform.machine())
    found = [path for path in (SOURCES / stem).glob("*.[ch]") if path.stem.endswith(foreign)]
    return sorted(map(str, found)) if Path("tests", stem, "fuzz.c").exists() else []


def sources_with(changed: str) -> list[str]:
    """What is compiled anew: the file itself, or those that include a header."""
    if changed.endswith(".c"):
        return [changed]
    included = f'#include "{changed.removeprefix("csrc/")}"'
    return sorted(str(source) for source in SOURCES.rglob("*.c") if included in source.read_text())


@dataclass
class Emulated:
    """A stem's kernels of that machine, and their killer."""

    workshop: Workshop

    @property
    def stem(self) -> str:
        return self.workshop.stem

    @property
    def cross(self) -> Cross:
        return Cross(MACHINE, list(self.workshop.compilers.cross))

    def lacking(self) -> str:
        """Why nothing can run; empty if it can."""
        built = Path("build", MACHINE, "lib/libpgquern.a").exists()
        return self.cross.lacking() or ("" if built else f"the toolchain has not built the kernels for {MACHINE}")

    def changes(self) -> Sequence[Change]:
        return [change for file in sources(self.stem) for change in lines.of_file(file)]

    def reads(self) -> Sequence[str]:
        return ["csrc", "tests/changes", f"tests/{self.stem}", "tests/cross"]

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        if self.lacking():
            return None, b""
        before, after = (self.code(change, text) for text in (Path(change.file).read_text(), change.text()))
        if not after:
            return "refused", b""
        return ("equivalent", b"") if before == after else (None, after)

    def code(self, change: Change, text: str) -> bytes:
        """The objects of what the change concerns; nothing if the compiler refuses it."""
        folder, code = self.write(change, text), b""
        for source in sources_with(change.file):
            origin = folder / source if (folder / source).exists() else Path(source)
            command = [self.cross.compiler, f"-I{folder / SOURCES}", *self.cross.cflags, "-g0", "-c", str(origin)]
            if subprocess.run([*command, "-o", str(folder / "object")], capture_output=True).returncode:
                return b""
            code += (folder / "object").read_bytes()
        return code

    def write(self, change: Change, text: str) -> Path:
        folder = self.workshop.root / change.rank / MACHINE
        shutil.rmtree(folder, ignore_errors=True)
        (folder / change.file).parent.mkdir(parents=True)
        (folder / change.file).write_text(text)
        return folder

    def tell(self, change: Change) -> tuple[str, str]:
        """As Killer."""
        if lacking := self.lacking():
            return "", lacking
        folder = self.write(change, change.text())
        origins = [folder / source if (folder / source).exists() else source for source in sources_with(change.file)]
        # The library's own objects of these sources are not taken: all their names are defined.
        parts = [f"tests/{self.stem}/fuzz.c", "tests/cross/main.c", *origins, f"build/{MACHINE}/lib/libpgquern.a"]
        command = [self.cross.compiler, f"-I{folder / SOURCES}", *self.cross.cflags, "-w", *map(str, parts), "-pthread"]
        subprocess.run([*command, "-o", str(folder / "inputs")], check=True)
        found = map(partial(self.cross.judged, folder / "inputs"), INPUTS)
        return next((f"{n:,} inputs" for n, done in zip(INPUTS, found, strict=True) if done.returncode), ""), ""

    def attempt(self, change: Change) -> Tried:
        by, skipped = self.tell(change)
        shutil.rmtree(self.workshop.root / change.rank, ignore_errors=True)
        return Tried.of(change, by, skipped)
