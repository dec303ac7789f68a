# SPDX-License-Identifier: PostgreSQL
"""Builds PostgreSQL as it is, and once more with texts of ours in it, and runs its suites; never as root.

Or once more as it is, for servers whose data directories are on `pgquern mount` (on_mount.sh).
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.postgres.server import SERVER_USER, as_server_user
from tests.upstream.kinds import Kind

FOLDER = Path("build/upstream")
ELSEWHERE = Path("/var/tmp/pgquern-upstream")
MOUNT = Path("build/mount/pgquern-mount")
CONFIGURE = (
    "--quiet", "CFLAGS=-O2", "--enable-cassert", "--enable-tap-tests", "--enable-depend", "--enable-injection-points",
    "--without-readline", "--without-zlib", "--without-icu",
)  # fmt: skip
# Only guards against what hangs: no verdict depends on the speed of the machine.
HANG_SECONDS = 7200
HASTE = {"PG_TEST_TIMEOUT_DEFAULT": "60"}  # for what must fail, and may hang
PATIENCE = {"PG_TEST_TIMEOUT_DEFAULT": "1800", "PGISOLATIONTIMEOUT": "1800"}
TAP_TESTS_A_CPU = 3
"""Side by side, in each of the two servers' suites: such a test mostly waits."""
PASSED = re.compile(r"All (\d+) tests passed|Files=\d+, Tests=(\d+)|(\d+) of \d+ tests passed")


class BuildError(Exception):
    """A build failed; the text ends as its output does."""


def give(path: Path) -> None:
    """A folder that the server's user owns; under root that is another one."""
    path.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        user = pwd.getpwnam(SERVER_USER)
        os.chown(path, user.pw_uid, user.pw_gid)


def copy(checkout: Path, to: Path) -> None:
    """A checkout without its history; the server's user owns all of it."""
    shutil.copytree(checkout, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", SERVER_USER, to], check=True)


def workshop() -> Path:
    """Where the server's user can work: build/upstream, or elsewhere if a folder above is closed to it."""
    give(FOLDER)
    reached = subprocess.run([*as_server_user(), "test", "-w", FOLDER.resolve()], capture_output=True)
    if reached.returncode == 0:
        return FOLDER.resolve()
    give(ELSEWHERE)
    return ELSEWHERE


def as_confined_user(fuse: Path | None = None) -> list[str]:
    """The prefix of a command of the server's user. Its servers end with it, where namespaces of PIDs are allowed, and
    so do their mounts; there `fuse` is /dev/fuse, which may be closed to that user.

    A shell is the first process there, and not make: that is confused by the orphans which it gets. perf wants a /proc
    of the namespace, which may be forbidden.
    """
    for proc in (["--mount-proc"], []):
        own = ["setpriv", "--pdeathsig=KILL", "unshare", "--pid", *proc, "--fork", "--kill-child"]
        prefix = [*own, "sh", "-c", '"$@"; exit $?', "sh"]
        if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
            device = ["sh", "-c", 'mount --bind "$0" /dev/fuse && exec "$@"', fuse] if fuse and proc else []
            return [*prefix, *map(str, device), *as_server_user()]
    return as_server_user()


@dataclass(frozen=True)
class Ran:
    """How a suite ended."""

    code: int
    tests: int
    seconds: float
    log: Path


@dataclass(frozen=True)
class Tree:
    """A tree of PostgreSQL, built in place."""

    folder: Path
    configure: Sequence[str] = CONFIGURE
    on_mount: bool = False
    """Its servers run on `pgquern mount`, with full_page_writes = off."""

    @property
    def postgres(self) -> Path:
        return self.folder / "src" / "backend" / "postgres"

    def run(self, *command: str | Path, log: Path, environment: Mapping[str, str] | None = None) -> int:
        """As the server's user, with nothing of this process's environment: make would hand its own flags on."""
        kept = {"PATH": os.environ["PATH"], "LANG": "C", "HOME": str(self.folder), **(environment or {})}
        give(log.parent)
        with log.open("wb") as out:
            return subprocess.run(
                [*as_confined_user(self.fuse), *command], cwd=self.folder, env=kept, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, timeout=HANG_SECONDS,
            ).returncode  # fmt: skip

    @property
    def fuse(self) -> Path | None:
        """A device of its own, if this process may make one."""
        if not self.on_mount or os.getuid():
            return None
        device = self.folder.with_name("fuse")
        if not device.exists():
            os.mknod(device, stat.S_IFCHR | 0o600, os.stat("/dev/fuse").st_rdev)
            device.chmod(0o666)
        return device

    def must(self, *command: str | Path) -> None:
        log = self.folder.with_name(f"{self.folder.name}.log")
        if self.run(*command, log=log):
            said = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise BuildError(f"{' '.join(map(str, command))} failed in {self.folder} ({log}):\n{said}")

    def make(self) -> None:
        self.must("make", "-s", f"-j{os.cpu_count() or 1}")

    def check(self, folder: str, log: Path, environment: Mapping[str, str], only: str = "") -> Ran:
        """Upstream's `make check` in one of its folders; `only` narrows its TAP tests."""
        began = time.monotonic()
        words = [f"PROVE_FLAGS=-j{TAP_TESTS_A_CPU * (os.cpu_count() or 1)}", *([f"PROVE_TESTS={only}"] if only else [])]
        if self.on_mount:
            self.must("make", "-s", "-C", folder, "temp-install")
            self.wrap()
            words.append("NO_TEMP_INSTALL=yes")
        code = self.run("make", "-s", "-C", folder, "check", *words, log=log, environment={**PATIENCE, **environment})
        return Ran(code, count_tests(log.read_text(errors="replace")), round(time.monotonic() - began, 1), log)

    def wrap(self) -> None:
        """Puts on_mount.sh in the place of those programs in the installation that start and stop servers."""
        programs = next(self.folder.glob("tmp_install/**/bin"))
        give(programs / "real")
        shutil.copy(MOUNT, programs / "real")
        for name in ("postgres", "pg_ctl"):
            (programs / name).rename(programs / "real" / name)
            shutil.copy(Path(__file__).with_name("on_mount.sh"), programs / name)


def count_tests(log: str) -> int:
    """How many tests a suite says that it ran."""
    return sum(int(next(filter(None, found))) for found in PASSED.findall(log))


def control(work: Path, name: str, fill: Callable[[Tree], None], configure: Sequence[str] = CONFIGURE) -> Tree:
    """The unchanged tree, built: once for each name and each configuration."""
    tree = Tree(work / name / "control", configure)
    built, words = tree.folder.with_name("control.built"), " ".join(configure)
    if not built.exists() or built.read_text() != words:
        shutil.rmtree(tree.folder, ignore_errors=True)
        give(work / name)
        give(tree.folder)
        fill(tree)
        tree.must("./configure", *tree.configure)
        tree.make()
        built.write_text(words)
    return tree


def library(work: Path, kinds: Sequence[Kind]) -> str:
    """Puts our library, its headers and what counts calls where the server's user reads them; src/Makefile.custom."""
    place = work / "library"
    shutil.rmtree(place, ignore_errors=True)
    for path in (*Path("csrc").rglob("*.h"), *Path("csrc").rglob("*.def")):
        target = place / "include" / path.relative_to("csrc")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    counted = []
    for kind in kinds:
        counted.append(place / f"{kind.name}.o")
        subprocess.run(
            ["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-Icsrc", "-Itests/upstream",
             "-c", f"tests/{kind.stem}/upstream/{kind.name}.c", "-o", counted[-1]],
            check=True,
        )  # fmt: skip
    archive = place / "libpgquern.a"
    shutil.copyfile("build/lib/libpgquern.a", archive)
    sum_ = hashlib.sha256(b"".join(path.read_bytes() for path in (*counted, archive))).hexdigest()
    wraps = " ".join(f"-Wl,--wrap={kind.symbol}" for kind in kinds)
    return (
        f"# {sum_}\noverride CPPFLAGS += -I{place}/include\nLDFLAGS_EX += {wraps}\n"
        f"LIBS += {' '.join(map(str, counted))} {archive}\n"
    )


def changed(work: Path, base: Tree, name: str, texts: Mapping[Path, str], custom: str, on_mount: bool = False) -> Tree:
    """A copy of the built control in which these files have these texts, and what they change is built anew."""
    tree = Tree(base.folder.with_name(name), base.configure, on_mount)
    touched = tree.folder.with_name(f"{name}.files")
    if not touched.exists():
        shutil.rmtree(tree.folder, ignore_errors=True)
        give(tree.folder)
        tree.must("cp", "-a", f"{base.folder}/.", ".")
        tree.must("./configure", *tree.configure)  # for the absolute paths; headers that stay the same keep their time
        touched.touch()
    custom_path = tree.folder / "src" / "Makefile.custom"
    relink = not custom_path.exists() or custom_path.read_text() != custom
    custom_path.write_text(custom)
    before = {Path(line) for line in touched.read_text().splitlines()}
    touched.write_text("".join(f"{path}\n" for path in sorted({*before, *texts})))
    for path in {*before, *texts}:
        text = texts.get(path) or (base.folder / path).read_text()
        if relink or (tree.folder / path).read_text() != text:
            (tree.folder / path).write_text(text)
    tree.make()
    return tree


def symbols(program: Path) -> set[str]:
    """What a program defines."""
    out = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in out.splitlines()}


def counts(folder: Path) -> dict[str, tuple[int, str]]:
    """By kind: how often it was called, and the level of the CPU that the caller saw (tests/upstream/counted.h)."""
    found = {}
    for path in folder.iterdir():
        data = path.read_bytes()
        found[path.name] = (int.from_bytes(data[:8], "little"), data[8:].rstrip(b"\0").decode())
    return found
