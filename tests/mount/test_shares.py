# SPDX-License-Identifier: PostgreSQL
"""Who asks, by the title of a process, and what the shares do to it."""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.mount.mounted import CRASH, Mount
from tools.mount.__main__ import Figures, figures
from tools.mount.__main__ import main as mount_command

PAGE = 8192
TITLES = {
    "backend": ["postgres: me here [local] UPDATE", "postgres: io worker 2 ", "postgres: startup recovering 0001",
                "postgres: checkpoint here [local]", "cp"],
    "checkpointer": ["postgres: checkpointer ", "postgres: main: checkpointer performing shutdown checkpoint"],
    "autovacuum": ["postgres: autovacuum worker here", "postgres: main: autovacuum launcher "],
    "writeback": ["postgres: background writer "],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "data/base/5").mkdir(parents=True)
    (tmp_path / "data/base/5/16384").write_bytes(bytes(400 * PAGE))
    (tmp_path / "mnt").mkdir()
    yield tmp_path
    Mount(tmp_path / "data", tmp_path / "mnt").__exit__()


def titled(title: str, command: str) -> str:
    """The shell's command that runs this one under a title."""
    return f"exec -a {shlex.quote(title)} {command}"


def requests(shown: Figures, kind: str) -> dict[str, int]:
    return {name: one.done[kind].requests for name, one in shown.classes.items()}


def when_protected(mount: Mount) -> dict[str, str | int]:
    """What it shows once a batch is in place; after a minute what it shows then."""
    for _ in range(6000):
        if (values := figures(mount.point).values)["pages_protected"]:
            break
        time.sleep(0.01)
    return values


def test_who_asks(folder: Path) -> None:
    with Mount(folder / "data", folder / "mnt") as mount:
        read = f"dd if={mount.point}/base/5/16384 of=/dev/null bs={PAGE} count=3 status=none"
        write = f"dd if=/dev/zero of={mount.point}/base/5/16384 bs={PAGE} count=2 conv=notrunc,fsync status=none"
        for titles in TITLES.values():
            for title in titles:
                subprocess.run(["bash", "-c", titled(title, read)], check=True)
                subprocess.run(["bash", "-c", titled(title, write)], check=True)
        shown = figures(mount.point)
        assert requests(shown, "read") == {name: 3 * len(titles) for name, titles in TITLES.items()}
        assert requests(shown, "write") == {name: 2 * len(titles) for name, titles in TITLES.items()}
        assert requests(shown, "sync") == {name: len(titles) for name, titles in TITLES.items()}
        for one in shown.classes.values():
            assert one.queue == 0
            assert one.done["read"].bytes == PAGE * one.done["read"].requests
            assert 0 < one.done["read"].median_ns <= one.done["read"].p99_ns
            assert one.done["disk"].bytes > 2 * one.done["write"].bytes  # to the area, and in place
        mount.end()


def test_what_a_checkpoint_writes_does_not_wait_for_its_fsync(folder: Path) -> None:
    """Else all its pages would stand before a commit's sync. What backends write waits: it may be written again."""
    with Mount(folder / "data", folder / "mnt") as mount:
        for title, name, at, count in (
            ("postgres: me here [local] UPDATE", 16384, 0, 64),
            ("postgres: checkpointer ", 16384, 64, 63),
            ("postgres: checkpointer ", 16385, 0, 1),
        ):
            write = f"dd if=/dev/zero of={mount.point}/base/5/{name} bs={PAGE} count={count} seek={at} conv=notrunc"
            subprocess.run(["bash", "-c", titled(title, write)], check=True)
        values = when_protected(mount)
        assert (values["pages_protected"], values["pages_dirty"], values["page_fsyncs"]) == (64, 64, 0)
        assert values["area_writes"] == 1
        mount.end()


def test_what_a_backend_writes_again_waits(folder: Path) -> None:
    below = folder / "data/base/5/16384"
    with Mount(folder / "data", folder / "mnt") as mount:
        for title, at, count in (
            ("postgres: checkpointer ", 0, 63),
            ("postgres: me here [local] UPDATE", 0, 1),
            ("postgres: checkpointer ", 63, 2),
        ):
            write = f"dd if=/dev/urandom of={mount.point}/base/5/16384 bs={PAGE} count={count} seek={at} conv=notrunc"
            subprocess.run(["bash", "-c", titled(title, write)], check=True)
        values = when_protected(mount)
        assert (values["pages_protected"], values["pages_dirty"]) == (64, 1)
        pages = below.read_bytes()
        assert pages[:PAGE] == bytes(PAGE)
        assert pages[64 * PAGE : 65 * PAGE] != bytes(PAGE)
        mount.end()


def test_a_process_is_looked_at_anew(folder: Path) -> None:
    """Its number may be that of another one after a second: here the same process gets another title."""
    with Mount(folder / "data", folder / "mnt") as mount:
        read = f"dd if={mount.point}/base/5/16384 of=/dev/null bs={PAGE} count=3 status=none"
        later = titled("postgres: autovacuum worker here", read)
        first = titled(
            "postgres: checkpointer ", f"bash -c {shlex.quote(f'head -c {PAGE} <$0 >$1; sleep 1.2; {later}')}"
        )
        subprocess.run(["bash", "-c", f"{first} {mount.point}/base/5/16384 /dev/null"], check=True)
        assert requests(figures(mount.point), "read")["autovacuum"] == 3
        mount.end()


def test_shares_are_set_shown_and_refused(folder: Path) -> None:
    def run(*words: object) -> str:
        done = CliRunner().invoke(mount_command, [*map(str, words)])
        return done.stdout if done.exit_code == 0 else f"{done.exit_code}: {done.stderr}"

    def shares() -> list[int]:
        return [one["share"] for one in json.loads(run("--status", "--json", folder / "mnt"))["classes"].values()]

    bad = Mount(folder / "data", folder / "mnt", shares="backend=0").start()
    assert (bad.returncode, "a share is not 1 to 10000" in bad.stderr) == (2, True)
    assert (folder / "data/base").exists()
    with Mount(folder / "data", folder / "mnt", shares="checkpointer=300") as mount:
        assert shares() == [500, 300, 200, 100]
        assert "autovacuum        50" in run("--shares", "autovacuum=50,writeback=40", mount.point)
        assert shares() == [500, 300, 50, 40]
        for wrong in ("backend", "backend=", "backend=-1", "backend=1 ", "backend=1,", "nobody=1", "backend=1,,", "=1"):
            assert "2: Error: shares" in run("--shares", wrong, mount.data)
        assert "scale the shares" in run("--shares", "backend=10001", mount.data)
        assert "choose rounder shares" in run("--shares", "backend=9973,checkpointer=9967,autovacuum=9949", mount.data)
        assert shares() == [500, 300, 50, 40]
        mount.end()
    assert "is not mounted" in run("--shares", "backend=1", folder / "mnt")


READERS = """
import os, random, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
def read():
    while os.pread(fd, 8192, 8192 * random.randrange(400)):
        pass
for _ in range(int(sys.argv[2])):
    threading.Thread(target=read).start()
"""


@pytest.mark.parametrize(("autovacuum", "least", "most"), [(500, 0.5, 2), (50, 4, 20)])
def test_shares_divide_a_slow_disk(folder: Path, autovacuum: int, least: float, most: float) -> None:
    """Two classes that always wait, over a device that does one request at a time: by their shares. Both tell, so that
    neither equal service nor an unequal number of requests could pass for it."""
    slow = {"LD_PRELOAD": str(CRASH), "CRASH_SLOW": "500"}
    shares = f"backend=500,autovacuum={autovacuum}"
    with Mount(folder / "data", folder / "mnt", shares=shares, environment=slow) as mount, ExitStack() as stack:
        # More than may be on their way, and no more than the mount has threads.
        for title, threads in (("postgres: me here [local] SELECT", 36), ("postgres: autovacuum worker here", 20)):
            command = shlex.join([sys.executable, "-c", READERS, f"{mount.point}/base/5/16384", str(threads)])
            process = stack.enter_context(subprocess.Popen(["bash", "-c", titled(title, command)]))
            stack.callback(process.kill)
        before, now = {"backend": 0, "autovacuum": 0}, dict[str, int]()
        while sum(before.values()) == 0 or sum(now.values()) < sum(before.values()) + 2000:
            now = requests(figures(mount.point), "disk")
            if min(now["backend"], now["autovacuum"]) > 200 and sum(before.values()) == 0:
                before = now
            time.sleep(0.1)
        ratio = (now["backend"] - before["backend"]) / (now["autovacuum"] - before["autovacuum"])
        assert least <= ratio <= most
