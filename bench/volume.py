# SPDX-License-Identifier: PostgreSQL
"""A volume as clouds sell it: a file system of its own, whose device does so many requests and bytes a second.

The kernel throttles a loop device, whoever asks it: reads and writes each, where clouds count them together. This needs
root, and cgroup v1's blkio: its root group is limited, because to that one belongs what the kernel writes back later.
Under cgroup v2 the root group has no limits, and so it is refused. Memory is limited in a group of its own, by v1, too.
What is mounted ends with this process, however that ends; a limit is taken away on Ctrl-C and SIGTERM, too, and stays
at a device without a file after SIGKILL.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

ROOT_GROUP = Path("/sys/fs/cgroup/blkio")
MEMORY = Path("/sys/fs/cgroup/memory")
CLONE_NEWNS = 0x20000  # linux/sched.h; os.unshare came with Python 3.12


class Refused(Exception):
    """This machine does not do it; the text is the reason."""


class Limits(BaseModel):
    """A second, of reads and of writes each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    iops: int = Field(gt=0)
    """Requests."""
    mib: int = Field(gt=0)
    """Of bytes, 2^20."""


def _run(*command: str | Path) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise Refused(f"{command[0]} is missing (Debian: e2fsprogs, mount)") from error
    if done.returncode:
        raise Refused(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


def own_mounts(folder: Path) -> None:
    """What this process mounts from now on nobody else sees, and it ends with the last process from here.

    In the folder lies, for a moment, what lets an ordinary user open /dev/fuse: udev does so on an ordinary machine.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise Refused(f"mounts of its own: {os.strerror(ctypes.get_errno())}")
    _run("mount", "--make-rprivate", "/")
    fuse = Path("/dev/fuse")
    if fuse.exists() and fuse.stat().st_mode & 0o6 != 0o6:
        node = folder / "fuse"
        node.unlink(missing_ok=True)
        _run("mknod", "--mode=666", node, "c", "10", "229")
        _run("mount", "--bind", node, fuse)
        node.unlink()


@contextmanager
def volume(folder: Path, mib: int) -> Iterator[str]:
    """A new file system of so many MiB at the folder; its file lies beside it. Yields the device, as MAJOR:MINOR."""
    if os.getuid() or not (ROOT_GROUP / "blkio.throttle.write_iops_device").exists():
        raise Refused("a limited volume needs root, and the blkio controller of cgroup v1")
    file = folder.with_name(f"{folder.name}.volume")
    try:
        # Written, not only reserved: else the first one to write there would pay for that.
        _run("dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mib}", "conv=fsync", "status=none")
        loop = _run("losetup", "--direct-io=on", "--show", "--find", file)
    finally:
        file.unlink(missing_ok=True)
    try:
        _run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", loop)
        _run("mount", loop, folder)
    finally:
        subprocess.run(["losetup", "--detach", loop])  # as soon as nothing is mounted
    try:
        yield Path("/sys/block", Path(loop).name, "dev").read_text().strip()
    finally:
        subprocess.run(["umount", "--lazy", folder])


@contextmanager
def limited(device: str, limits: Limits) -> Iterator[None]:
    """So much and no more, meanwhile."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    rules = {f"{way}_{what}": value for way in ("read", "write")
             for what, value in (("iops", limits.iops), ("bps", limits.mib << 20))}  # fmt: skip

    def write(rule: str, value: int) -> None:
        try:
            (ROOT_GROUP / f"blkio.throttle.{rule}_device").write_text(f"{device} {value}\n")
        except OSError as error:
            raise Refused(f"a limit of {device}: {error}") from error

    try:
        (ROOT_GROUP / "cgroup.procs").write_text(f"{os.getpid()}\n")
        for rule, value in rules.items():
            write(rule, value)
        yield
    finally:
        for rule in rules:
            write(rule, 0)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def little_memory(mib: int) -> Iterator[None]:
    """So many MiB for this process and all that it starts meanwhile, with what the kernel caches of their files."""
    group, mine = MEMORY / f"pgquern-{os.getpid()}", str(os.getpid())
    if os.getuid() or not (MEMORY / "memory.limit_in_bytes").exists():
        raise Refused("little memory needs root, and the memory controller of cgroup v1")
    try:
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(mib << 20))
            (group / "cgroup.procs").write_text(mine)
        except OSError as error:
            raise Refused(f"little memory: {error}") from error
        yield
    finally:
        (MEMORY / "cgroup.procs").write_text(mine)
        if group.exists():
            group.rmdir()
