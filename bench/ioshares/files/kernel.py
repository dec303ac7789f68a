# SPDX-License-Identifier: PostgreSQL
"""What this kernel has to share a device between processes, and whether it lets us use it.

No device but one that is made here is changed: BFQ is tried on a loop device over a file.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SYS_BLOCK = Path("/sys/block")
MOUNTS = Path("/proc/mounts")
BEST_EFFORT, IDLE = 2, 3


class UnavailableError(Exception):
    """The kernel, or the rights of this process, do not allow it; the text says what is missing."""


def ioprio(kind: int, level: int) -> str:
    """The argument for a process of this I/O priority."""
    return f"ioprio={kind << 13 | level}"


def schedulers(text: str) -> tuple[str, list[str]]:
    """The scheduler of a queue, and all that it could have, from its file in sysfs."""
    names = text.split()
    return next((name.strip("[]") for name in names if name.startswith("[")), "none"), [n.strip("[]") for n in names]


def queue_of(path: Path) -> Path | None:
    """The queue of the device below a file, in sysfs; None if there is none, as below a network's or a memory's."""
    device = os.stat(path).st_dev
    found = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    for folder in (found, found.resolve().parent):
        if (folder / "queue" / "scheduler").exists():
            return folder / "queue"
    return None


@contextmanager
def loop_device(file: Path) -> Iterator[Path]:
    """A loop device over the file, past the page cache where the file system can."""
    if os.geteuid() != 0 or not shutil.which("losetup"):
        raise UnavailableError("a loop device needs root, and losetup")
    made = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=on", file], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise UnavailableError(f"no loop device: {made.stderr.strip()}")
    device = Path(made.stdout.strip())
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def set_scheduler(device: Path, name: str) -> None:
    """For a loop device of ours."""
    file = SYS_BLOCK / device.name / "queue" / "scheduler"
    if name not in schedulers(file.read_text())[1]:
        raise UnavailableError(f"this kernel has no scheduler {name} for {device}")
    try:
        file.write_text(name)
    except OSError as error:
        raise UnavailableError(f"the scheduler of {device} cannot be set: {error}") from error


def _controller() -> tuple[Path, str]:
    """Where cgroups for block I/O are, and the file of BFQ's weight in each."""
    mounts = [line.split() for line in MOUNTS.read_text().splitlines()]
    for _, folder, kind, options, *_ in mounts:
        if kind == "cgroup" and "blkio" in options.split(","):
            return Path(folder), "blkio.bfq.weight"
        if kind == "cgroup2" and "io" in Path(folder, "cgroup.controllers").read_text().split():
            return Path(folder), "io.bfq.weight"
    raise UnavailableError("no cgroup has a controller for block I/O")


@contextmanager
def weighted(weights: Sequence[int]) -> Iterator[list[str]]:
    """A cgroup for each weight, while BFQ is in use; yields the arguments for processes in them."""
    home, name = _controller()
    top = home / f"pgquern-{os.getpid()}"
    made = [top / str(i) for i in range(len(weights))]
    try:
        top.mkdir()
        if name.startswith("io."):
            for folder in (home, top):
                (folder / "cgroup.subtree_control").write_text("+io")
        for folder, weight in zip(made, weights, strict=True):
            folder.mkdir()
            (folder / name).write_text(str(weight))
            if not re.search(rf"\b{weight}\b", (folder / name).read_text()):
                raise UnavailableError(f"{folder / name} does not keep a weight")
        yield [f"cgroup={folder / 'cgroup.procs'}" for folder in made]
    except OSError as error:
        raise UnavailableError(f"a cgroup's weight cannot be set: {error}") from error
    finally:
        for folder in [*made, top]:
            if folder.exists():
                folder.rmdir()
