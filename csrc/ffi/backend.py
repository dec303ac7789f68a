# SPDX-License-Identifier: PostgreSQL
"""The build backend of `pip install .`: setuptools, which here also compiles the kernels into the binding.

pyproject.toml names this module as the backend, and the classes below as setuptools' commands. The flags of each level
of the CPU are read from csrc/rules.mk, so that they are written down once.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import generate
import house
from setuptools import Extension, build_meta
from setuptools.build_meta import (  # the hooks that pip calls
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info
from setuptools.command.sdist import sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

CSRC = Path("csrc")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-falign-functions=64", "-fvisibility=hidden"]

DESCRIBE = ("git", "rev-parse", "--short=10", "HEAD")


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """pip's hook: the man pages are made of the programs, which import what they need to run."""
    needs = tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *needs, "click-man"]


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """pip's hook for `pip install -e .`. Strict: the binding lies in a folder of build/, not beside its Python sources,
    where it would come before the one that make makes."""
    settings = {**(config_settings or {}), "editable_mode": "strict"}
    return build_meta.build_editable(wheel_directory, settings, metadata_directory)


def level_flags(rules: str) -> dict[str, list[str]]:
    """The lines `ISA_<level> := ...` of a makefile; a level may use those above it."""
    found: dict[str, list[str]] = {}
    for level, flags in re.findall(r"^ISA_(\w+)\s*:=\s*(.*)$", rules, flags=re.MULTILINE):
        found[level] = re.sub(r"\$\(ISA_(\w+)\)", lambda m: " ".join(found[m[1]]), flags).split()
    if not found:
        raise ValueError("csrc/rules.mk has no line `ISA_<level> := <flags>`")
    return found


def foreign_levels(rules: str) -> tuple[str, ...]:
    """The levels in the lines `LEVELS_<machine> := ...` of other machines: files of these are not for this one."""
    listed = re.findall(r"^LEVELS_(\w+)\s*:=(.*)$", rules, flags=re.MULTILINE)
    return tuple(level for machine, levels in listed if machine != platform.machine() for level in levels.split())


class AllSources(sdist):
    """With all that the wheel is built from: setuptools itself finds the package's Python alone."""

    def make_distribution(self) -> None:
        below = (path for folder in ("csrc", *house.FOLDERS, house.FIGURES) for path in Path(folder).rglob("*"))
        self.filelist.extend([str(path) for path in below if path.is_file() and path.suffix not in (".pyc", ".pyo")])
        super().make_distribution()


class BuildBinding(build_ext):
    """Compiles each kernel for the level that its file name ends in, and links all into the extension."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.inplace = False

    def run(self) -> None:
        """The man pages come last: the programs, which lie in build_lib by now, import the binding."""
        super().run()
        if self.editable_mode:
            return
        library, pages = Path(self.build_lib).resolve(), Path(self.build_temp, "man")
        shutil.rmtree(pages, ignore_errors=True)
        pages.mkdir(parents=True)
        path = [str(library / "pgquern/_house"), str(library), *filter(None, [os.environ.get("PYTHONPATH")])]
        command = [sys.executable, "-P", "tools/pgquern/man.py", str(pages), self.distribution.get_version()]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(path)}, check=True)
        self.distribution.data_files = [("share/man/man1", sorted(map(str, pages.iterdir())))]

    def build_extension(self, ext: Extension) -> None:
        rules = (CSRC / "rules.mk").read_text()
        levels, foreign = level_flags(rules), foreign_levels(rules)
        binding = Path(self.build_temp, "_pgquern.c")
        binding.parent.mkdir(parents=True, exist_ok=True)
        generate.main(CSRC / "pgquern.h", binding)
        for source in sorted(path for path in CSRC.rglob("*.c") if not path.stem.endswith(foreign)):
            flags = next((levels[level] for level in levels if source.stem.endswith(level)), [])
            ext.extra_objects += self.compiler.compile(
                [str(source)], output_dir=self.build_temp, include_dirs=[str(CSRC)], extra_postargs=FLAGS + flags
            )
        ext.sources = [str(binding)]
        ext.include_dirs = [str(CSRC)]
        ext.extra_compile_args = ["-fvisibility=hidden"]
        super().build_extension(ext)


class BuildCommand(build_py):
    """Puts what the command `pgquern` runs into pgquern/_house/. An editable install runs the clone instead."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "pgquern", "_house")
        shutil.rmtree(target, ignore_errors=True)
        for path in house.files():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / path)
        for folder in house.FOLDERS:
            # Or else a package of that name, anywhere on the path, would come before ours.
            (target / folder / "__init__.py").touch()
        (target / "COMMIT").write_text(commit())


def commit() -> str:
    """The commit that is built; empty if it is not known."""
    if not (Path(".git").exists() and shutil.which("git")):
        return ""
    return subprocess.run(DESCRIBE, capture_output=True, text=True, check=False).stdout


class KeepMetadataInBuild(egg_info):
    """Writes the package's metadata to build/, where all that is generated goes, not beside the sources."""

    def initialize_options(self) -> None:
        super().initialize_options()
        Path("build").mkdir(exist_ok=True)
        self.egg_base = "build"
