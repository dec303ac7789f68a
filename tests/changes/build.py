# SPDX-License-Identifier: PostgreSQL
"""Compiles a change, and links it with the objects of the ordinary build."""

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock

from tests.changes import lines
from tests.changes.change import Change, Verdict
from tools.common import results
from tools.common.kernels import kernel_sources

SOURCES = Path("csrc")
ROOT = results.scratch(Path("build/changes"))
OBJECTS = Path("build/obj")
UNCHANGED = Path("build/ffi")
BINDING = Path("build/ffi-src/_pgquern.o")
FFI = "_pgquern.abi3.so"
PACKAGE = SOURCES / "ffi/pgquern"


@cache
def cpu() -> str:
    """The level of this CPU, or what PGQUERN_CPU leaves of it."""
    # Not at the top: each child imports this module again, and must load its own binding.
    from pgquern.cpu import cpu as level

    return level()


@dataclass(frozen=True)
class Compiler:
    """A compiler with the flags of one of the builds."""

    cflags: Sequence[str]
    isa: Mapping[str, Sequence[str]]
    """Further flags by level of csrc/common/cpu.h, the lowest level first."""
    name: str = "gcc"

    def level(self, file: str) -> str:
        """The level that a source file is compiled for, by the end of its name; empty if it runs on any CPU."""
        return next((level for level in self.isa if Path(file).stem.endswith(level)), "")

    def lacks(self, file: str) -> str:
        """Why this CPU, or what PGQUERN_CPU leaves of it, cannot run a source file; empty if it can."""
        levels, level = ["none", *self.isa], self.level(file)
        can = not level or levels.index(level) <= levels.index(cpu())
        return "" if can else f"{file} needs {level}; this CPU's level is {cpu()}"

    def command(self, source: Path, include: Path, target: Path | str) -> list[str]:
        """What compiles one source, headers in `include` first."""
        flags = self.isa.get(self.level(source.name), [])
        return [self.name, f"-I{include}", *self.cflags, *flags, "-c", str(source), "-o", str(target)]


@dataclass(frozen=True)
class Compilers:
    """One for each build that a change is tried in."""

    plain: Compiler
    world: Compiler
    asan: Compiler
    threads: Compiler
    cross: Sequence[str] = ()
    """Flags of another machine's."""


@dataclass(frozen=True)
class Built:
    """A change that compiles."""

    change: Change
    folder: Path
    objects: Mapping[str, Path]
    """The objects that differ from the ordinary ones, by source under csrc/; none for a change of Python."""

    @property
    def binding(self) -> Path:
        """The folder of the compiled binding."""
        return self.folder if self.objects else UNCHANGED


def sources_with(file: str) -> list[str]:
    """The sources under csrc/ that a change of `file`, under it too, concerns: itself, or all that include a header."""
    if file.endswith(".c"):
        return [file]
    found = []
    for depends in OBJECTS.rglob("*.d"):
        if f"csrc/{file}" in depends.read_text().replace("\\\n", " ").split():
            found.append(str(depends.relative_to(OBJECTS).with_suffix(".c")))
    # The object of a source that was removed may still exist.
    return sorted(source for source in found if (SOURCES / source).exists())


def objects_with(ordinary: Path, changed: Mapping[str, Path]) -> list[str]:
    """The objects of all kernels, those that are changed in the place of the ordinary ones."""
    names = (str(source.relative_to(SOURCES)) for source in kernel_sources())
    objects = {name: ordinary / Path(name).with_suffix(".o") for name in names} | dict(changed)
    return list(map(str, objects.values()))


@dataclass
class Workshop:
    """Where a stem's changes are built."""

    stem: str
    layer: str
    compilers: Compilers
    strict: bool = True
    """A warning refuses a change, as it does in the ordinary build. Those by hand may leave things unused."""
    built: dict[str, Built] = field(default_factory=dict)
    """By the change's name."""
    made: set[Path] = field(default_factory=set)
    """What all changes share, and was made already."""
    making: defaultdict[Path, Lock] = field(default_factory=lambda: defaultdict(Lock))
    """Held while one of these is made."""
    controlling: Lock = field(default_factory=Lock)
    """Held while the unchanged sources are linked and run, which several killers ask for at a time."""

    @property
    def root(self) -> Path:
        return ROOT / self.stem / self.layer

    def build(self, change: Change) -> tuple[Verdict | None, bytes]:
        """As Row.prepare."""
        folder = self.root / change.rank
        shutil.rmtree(folder, ignore_errors=True)
        if change.file.endswith(".py"):
            return self.python(change, folder)
        made = self.compile(self.compilers.plain, change, folder)
        if made is None:
            return "refused", b""
        code = [path.read_bytes() for path in made.values()]
        if made and code == [self.original(source) for source in made]:
            return "equivalent", b""
        if not made or not self.links(folder, made):
            return "refused", b""
        self.built[change.name] = Built(change, folder, made)
        return None, change.file.encode() + b"".join(code)

    def python(self, change: Change, folder: Path) -> tuple[Verdict | None, bytes]:
        """A copy of the package with the change made."""
        meant = lines.meaning(change.text())
        if meant is None:
            return "refused", b""
        if meant == lines.meaning(Path(change.file).read_text()):
            return "equivalent", b""
        package = Path(change.file).parent
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / package.name / Path(change.file).name).write_text(change.text())
        self.built[change.name] = Built(change, folder, {})
        return None, change.file.encode() + meant.encode()

    def compile(self, compiler: Compiler, change: Change, folder: Path) -> dict[str, Path] | None:
        """The objects of what the change concerns; None if the build refuses it."""
        file = change.file.removeprefix("csrc/")
        changed = folder / change.file
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(change.text())
        made = {}
        for source in sources_with(file):
            origin = changed if source == file else SOURCES / source
            made[source] = folder / "obj" / Path(source).with_suffix(".o")
            made[source].parent.mkdir(parents=True, exist_ok=True)
            command = compiler.command(origin, folder / SOURCES, made[source])
            if subprocess.run([*command, *([] if self.strict else ["-w"])], capture_output=True).returncode:
                return None
        return made

    def original(self, source: str) -> bytes:
        """The object of an unchanged source."""
        target = self.root / "original" / Path(source).with_suffix(".o")
        command = self.compilers.plain.command(SOURCES / source, SOURCES, target)
        return self.once(target, [*command, *([] if self.strict else ["-w"])]).read_bytes()

    def once(self, target: Path, command: Sequence[str]) -> Path:
        """Makes what all changes share. One that is there already may be of older sources."""
        with self.making[target]:
            if target not in self.made:
                target.parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(command, check=True)
                self.made.add(target)
        return target

    def links(self, folder: Path, made: Mapping[str, Path]) -> bool:
        """Whether the change's binding can be linked; it then lies in the change's folder.

        A shared object may lack a function that it calls, and fails when it is loaded. So the kernels alone, which need
        none of Python's, are linked so that all must be there.
        """
        whole = ["gcc", "-shared", "-Wl,-z,defs", *objects_with(OBJECTS, made), "-pthread", "-o", os.devnull]
        if subprocess.run(whole, capture_output=True).returncode:
            return False
        return link(folder, OBJECTS, made)

    def unchanged(self) -> Path:
        """The folder of a binding of the ordinary objects. It lies where those of changes do: a test that fails because
        of the place would tell each change."""
        folder = self.root / "unchanged"
        with self.making[folder]:
            if folder not in self.made:
                folder.mkdir(parents=True, exist_ok=True)
                if not link(folder, OBJECTS, {}):
                    raise RuntimeError(f"{OBJECTS} makes no binding: make kernels")
                self.made.add(folder)
        return folder

    def same_by_clang(self, built: Built) -> bool:
        """Whether another compiler makes the same code of the change as of the original: then it changes nothing."""
        compiler = Compiler([*self.compilers.plain.cflags, "-w"], self.compilers.plain.isa, "clang")
        for source in built.objects:
            changed = built.folder / SOURCES / source
            here, there = (
                subprocess.run(compiler.command(path, include, "-"), capture_output=True)
                for include, path in (
                    (built.folder / SOURCES, changed if changed.exists() else SOURCES / source),
                    (SOURCES, SOURCES / source),
                )
            )
            if here.returncode or here.stdout != there.stdout:
                return False
        return bool(built.objects)


def link(folder: Path, ordinary: Path, changed: Mapping[str, Path], *flags: str) -> bool:
    """Links a binding of the ordinary objects, but for those that are changed."""
    command = ["gcc", "-shared", *flags, str(BINDING), *objects_with(ordinary, changed), "-o", str(folder / FFI)]
    return subprocess.run(command, capture_output=True).returncode == 0
