# SPDX-License-Identifier: PostgreSQL
"""What may tell a change of C or Python. That the unchanged sources pass is looked at where something tells."""

import os
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import pytest

from tests.changes import nodes
from tests.changes.build import SOURCES, UNCHANGED, Built, Compiler, Workshop, link, objects_with
from tests.changes.change import Change
from tests.runners import tsan
from tests.runners.world import weight
from tools.common import sanitizers

WHOLE_CPU = 3600
"""CPU seconds after which a run of tests hangs."""
FEW = 15
"""Examples of Hypothesis, at first."""
CPU_LEAST, CPU_TIMES = 20, 20
"""A test may use 20 CPU seconds; if more, 20 times what it uses on the unchanged sources, which it then shows."""
SEEDS = 200
"""Of a world; fewer of one that is heavy."""
WORLD_OBJECTS = Path("build/obj-world")
ASAN_OBJECTS = Path("build/obj-asan")


class Broken(click.ClickException):
    """What must pass does not, unchanged."""


@dataclass
class Tests:
    """A stem's pytest files, or some nodes of them."""

    workshop: Workshop
    chosen: Sequence[str]
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a test has told a change of a file: the best come first."""
    seconds: dict[str, float] = field(default_factory=dict)
    """CPU time of the tests that have run; the short ones come first."""
    limits: dict[str, int] = field(default_factory=lambda: {nodes.OTHERS: CPU_LEAST})
    controls: dict[tuple[str, ...], nodes.Ended] = field(default_factory=dict)

    def control(self, built: Built, chosen: Sequence[str]) -> nodes.Ended:
        """The unchanged sources must pass these tests."""
        binding = self.workshop.unchanged() if built.objects else UNCHANGED
        key = (str(binding), *chosen)
        with self.workshop.controlling:
            if key not in self.controls:
                log = self.workshop.root / f"control-{zlib.crc32(' '.join(chosen).encode()):08x}.log"
                ended = nodes.run(chosen, binding, log, WHOLE_CPU)
                if ended.code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
                    raise Broken(f"{' '.join(chosen)} fails unchanged:\n{ended.output[-3000:]}")
                self.controls[key] = ended
            return self.controls[key]

    def order(self, file: str) -> list[str]:
        """Those first that have told changes of this file, then those that speak of it, then the short ones."""
        stem = Path(file).stem
        known = sorted(self.seconds, key=lambda node: (stem not in node, self.seconds[node]))
        told = [node for (of, node), _ in self.kills.most_common() if of == file]
        return list(dict.fromkeys([*told, *known]))

    def tell(self, change: Change) -> tuple[str, str]:
        """First with few examples: most changes show on them."""
        by, skipped = self.ask(change, FEW)
        return (by, skipped) if by else self.ask(change, None)

    def ask(self, change: Change, examples: int | None) -> tuple[str, str]:
        """As tell, with so many examples of Hypothesis."""
        built = self.workshop.built[change.name]
        before = "" if built.objects else str(built.folder)
        while True:
            limits = dict(self.limits)
            ended = nodes.run(
                self.chosen,
                built.binding,
                built.folder / "log",
                WHOLE_CPU,
                examples,
                limits=limits,
                first=self.order(change.file),
                before=before,
            )
            failed = next((node for node, outcome in ended.outcomes.items() if outcome == "failed"), ended.last)
            self.seconds |= ended.seconds
            if ended.code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
                self.control(built, ["--collect-only", *self.chosen])
                return "the tests cannot be imported", ""
            if not ended.killed:
                return "", ended.skipped
            if not failed:
                self.control(built, ["--collect-only", *self.chosen])
                return f"at the import of the tests: {ended.killed}", ""
            unchanged = self.control(built, [failed])
            needs = CPU_LEAST + int(CPU_TIMES * unchanged.cpu)
            if ended.killed != nodes.NO_END or limits.get(failed, 0) >= needs:
                self.kills[change.file, failed] += 1
                return failed, ""
            self.limits[failed] = needs


@dataclass
class World:
    """The stem's simulated disks, threads and clock, from some seeds."""

    workshop: Workshop
    seed: int = -1
    """Tried first, if there is one."""

    def tell(self, change: Change) -> tuple[str, str]:
        """Each seed's CPU time is limited by the world itself."""
        built = self.workshop.built[change.name]
        sources = sorted(Path("tests", self.workshop.stem).glob("*world.c"))
        if not built.objects or not sources:
            return "", ""
        folder = built.folder / "world"
        if (made := self.workshop.compile(self.workshop.compilers.world, change, folder)) is None:
            return "", ""
        looks = [(source, self.seed, 1) for source in sources if source.stem == "world" and self.seed >= 0]
        for source, first, n in [*looks, *((source, 0, SEEDS // weight(source)) for source in sources)]:
            if self.run(source, folder, made, first, n):
                with self.workshop.controlling:
                    if self.run(source, self.workshop.root / "world", {}, first, n):
                        raise Broken(f"{source} fails unchanged: make world STEM={self.workshop.stem}")
                return f"{source.stem} {first}" if n == 1 else source.stem, ""
        return "", ""

    def run(self, world: Path, folder: Path, changed: Mapping[str, Path], first: int, n: int) -> int:
        """Links a world with these objects in the place of the sources' own, and runs it: 0 if all is well."""
        program = folder / f"run_{world.stem}"
        harness = [str(self.harness(source)) for source in [world, *sorted(Path("tests/world").glob("*.c"))]]
        command = ["gcc", sanitizers.FLAG, *harness, *objects_with(WORLD_OBJECTS, changed), "-pthread"]
        self.workshop.once(program, [*command, "-o", str(program)])
        return subprocess.run([program, str(first), str(n), "whole"], capture_output=True).returncode

    def harness(self, source: Path) -> Path:
        """An object of the world itself, which no change concerns; its calls are the real ones."""
        target = (self.workshop.root / "world" / source.name).with_suffix(".o")
        compiler = self.workshop.compilers.world
        flags = [flag for flag in compiler.cflags if flag not in ("-include", "tests/world/interpose.h")]
        return self.workshop.once(target, Compiler(flags, {}).command(source, SOURCES, target))


@dataclass
class Sanitizers:
    """The kernels' tests under ASan and UBSan: a write past an array may hurt nobody else."""

    workshop: Workshop

    def tell(self, change: Change) -> tuple[str, str]:
        built = self.workshop.built[change.name]
        tests = sorted(map(str, Path("tests", self.workshop.stem).glob("test_kernels*.py")))
        if not built.objects or not tests:  # of no file pytest would run all that there are
            return "", ""
        folder = built.folder / "asan"
        if (made := self.workshop.compile(self.workshop.compilers.asan, change, folder)) is None:
            return "", ""
        link(folder, ASAN_OBJECTS, made, sanitizers.FLAG)
        paths = ["-o", f"pythonpath=. csrc/ffi {folder}"]
        variables = sanitizers.environment() | {"PYTHONPATH": f".:csrc/ffi:{folder}", "PGQUERN_PROFILE": "asan"}
        command = [sys.executable, "-m", "pytest", *nodes.OPTIONS, *paths, *tests]
        ended = subprocess.run(command, capture_output=True, env=os.environ | variables | {"PGQUERN_RESULT": ""})
        fine = (0, pytest.ExitCode.NO_TESTS_COLLECTED)
        return "" if ended.returncode in fine else "the sanitizers", ""


@dataclass
class Threads:
    """The stem's threads under ThreadSanitizer: a data race, a wrong answer, no end."""

    workshop: Workshop

    def tell(self, change: Change) -> tuple[str, str]:
        program, file = Path("tests", self.workshop.stem, "tsan.c"), Path(change.file)
        build = tsan.Build("sanitized", tsan.ROUNDS, tsan.OBJECTS, [*self.workshop.compilers.threads.cflags], True)
        folder = self.workshop.root / change.rank / "threads"
        changed = folder / file
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(change.text())
        looks = [(changed, None) if file == program else (program, file)]
        if file != program and tsan.includes(program, file, build.cflags):
            looks.insert(0, (program, None))
        for main, kernel in looks:
            code, slept, output = build.run(build.make(folder, main, kernel), tsan.NO_END, tsan.PATIENCE)
            if found := tsan.finding(code, slept, output):
                return found, ""
        return "", ""
