# SPDX-License-Identifier: PostgreSQL
"""A mount for a test: made by the program itself, ended whatever happens."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Self

import pytest

TOP = Path(__file__).resolve().parents[2]
PROGRAM = TOP / "build/mount/pgquern-mount"
CRASH = TOP / "build/mount/crash.so"


@cache
def why_not() -> str:
    """Why nothing can be mounted here; empty if it can. What fails beyond this fails the tests."""
    folder = tempfile.mkdtemp()
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        if not (os.getuid() and shutil.which("fusermount3") and os.path.exists("/dev/fuse")):
            return f"/dev/fuse cannot be opened: {error.strerror}"
    else:
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
        failed = os.getuid() == 0 and libc.mount(b"probe", folder.encode(), b"fuse", 0, options) != 0
        libc.umount2(folder.encode(), 2)
        os.close(fuse)
        if failed:
            return f"this machine refuses mounts: {os.strerror(ctypes.get_errno())}"
    finally:
        os.rmdir(folder)
    if subprocess.run(["pkg-config", "--exists", "fuse3"]).returncode:
        made = subprocess.run(["make", "-s", "build/setup/fuse.stamp"], cwd=TOP, capture_output=True, text=True)
        if made.returncode:
            return "libfuse3-dev is not installed"
    return ""


def needed() -> None:
    """Builds the program. Skips where there can be no mount."""
    if reason := why_not():
        pytest.skip(f"mount: {reason}")
    subprocess.run(["make", "-s", PROGRAM.relative_to(TOP), CRASH.relative_to(TOP)], cwd=TOP, check=True)


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    """The program with a change of one of its sources."""
    text = (TOP / "tools/mount" / name).read_text()
    assert text.count(old) == 1
    (folder / name).write_text(text.replace(old, new))
    flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "fuse3"], text=True).split()
    others = sorted(set((TOP / "build/mount").glob("*.o")) - {TOP / "build/mount" / name.replace(".c", ".o")})
    include = [f"-I{TOP}/{path}" for path in ("csrc", "tools/mount")]
    command: list[str | Path] = [
        "gcc",
        "-O1",
        "-w",
        "-std=c11",
        "-D_GNU_SOURCE",
        "-D_FILE_OFFSET_BITS=64",
        *include,
        folder / name,
    ]
    command += [*others, TOP / "build/lib/libpgquern.a", *flags, "-lpthread", "-o", folder / "pgquern-mount"]
    subprocess.run(command, check=True)
    return folder / "pgquern-mount"


class Mount:
    """`data` at `point`, folders that are there."""

    def __init__(
        self, data: Path, point: Path, *, protect: str = "double-write", memory: int = 256, wal: str = "direct",
        shares: str = "", cache: tuple[object, ...] = (), environment: Mapping[str, str] | None = None,
        program: Path = PROGRAM,
    ) -> None:  # fmt: skip
        self.data, self.point, self.wal = data, point, wal
        self.environment = environment or {}
        self.words = [*map(str, (program, data, point, protect, memory, wal)), "background", shares]
        self.words += map(str, cache)

    def start(self) -> subprocess.CompletedProcess[str]:
        """In the background it closes stderr: so this returns."""
        return subprocess.run(self.words, env={**os.environ, **self.environment}, capture_output=True, text=True)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """What a test has mounted by another way."""
        try:
            yield
        finally:
            self.__exit__()

    def __enter__(self) -> Self:
        done = self.start()
        assert done.returncode == 0, done.stderr
        return self

    def figures(self) -> dict[str, str]:
        lines = (self.point / ".pgquern-status").read_text().splitlines()
        return {name: value for name, _, value in (line.partition(" ") for line in lines)}

    @property
    def daemon(self) -> int:
        return int(self.figures()["daemon"])

    def end(self, number: int = signal.SIGTERM) -> None:
        """As `systemctl stop` does it; or by a kill."""
        os.kill(self.daemon, number)
        self.wait()

    def wait(self) -> None:
        """Until the program has ended, or crashed."""
        directory = os.open(self.data, os.O_RDONLY)
        fcntl.flock(directory, fcntl.LOCK_EX)  # the program has it until then
        os.close(directory)

    def __exit__(self, *_: object) -> None:
        program = ["umount", "-l"] if os.getuid() == 0 else ["fusermount3", "-uz"]
        subprocess.run([*program, self.point], capture_output=True)
