# SPDX-License-Identifier: PostgreSQL
"""The mount beside an ordinary folder: what is done to both has the same answers, and leaves the same files."""

import errno
import fcntl
import mmap
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.mount.mounted import TOP, Mount
from tests.runners.tsan import FIXED_ADDRESSES

PAGE = 8192
NAMES = ("base/5/16384", "base/5/16384.1", "base/5/16385_fsm", "base/5/plain", "base/5/t3_16386")


@pytest.fixture(params=["direct", "through", "cached"])
def mount(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mount]:
    """With little memory, so that pages are written back all the time."""
    for folder in ("data/base/5", "data/pg_wal", "twin/base/5", "twin/pg_wal", "mnt"):
        (tmp_path / folder).mkdir(parents=True)
    cached = request.param == "cached"
    cache = (1, tmp_path / "ssd", 8) if cached else ()
    wal = "direct" if cached else request.param
    with Mount(tmp_path / "data", tmp_path / "mnt", memory=8, wal=wal, cache=cache) as mount:
        yield mount


def answer(action: Callable[[Path], object], top: Path) -> object:
    try:
        return action(top)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def step(chosen: random.Random) -> tuple[str, Callable[[Path], object]]:
    """An operation, with its name."""
    name, other = chosen.sample(NAMES, 2)
    size, at = chosen.choice([PAGE, 5 * PAGE, 1, 4096, 12345]), chosen.choice([0, PAGE, 3 * PAGE, 4096, 777])
    filled, length = bytes([chosen.randrange(1, 256)]) * size, chosen.choice([0, PAGE, 4 * PAGE, 5000])

    def opened(top: Path, does: Callable[[int], object], flags: int = os.O_RDWR) -> object:
        fd = os.open(top / name, flags, 0o600)
        try:
            return does(fd)
        finally:
            os.close(fd)

    def copy(top: Path) -> object:
        with (top / name).open("rb") as source, (top / other).open("r+b") as target:
            return os.copy_file_range(source.fileno(), target.fileno(), size, at, at)

    def unlink_open(top: Path) -> object:
        with (top / name).open("r+b", buffering=0) as file:
            (top / name).unlink()
            file.write(filled)
            return os.pread(file.fileno(), 10 * PAGE, 0), os.fstat(file.fileno()).st_nlink

    steps: dict[str, Callable[[Path], object]] = {
        "create": lambda top: opened(top, os.fsync, os.O_RDWR | os.O_CREAT),
        "write": lambda top: opened(top, lambda fd: os.pwrite(fd, filled, at)),
        "write more": lambda top: opened(top, lambda fd: os.pwritev(fd, [filled, filled], at)),
        "append": lambda top: opened(top, lambda fd: os.write(fd, filled), os.O_WRONLY | os.O_APPEND),
        "read": lambda top: opened(top, lambda fd: os.pread(fd, size, at)),
        "fsync": lambda top: opened(top, os.fsync),
        "truncate": lambda top: os.truncate(top / name, length),
        "create anew": lambda top: opened(top, os.fdatasync, os.O_RDWR | os.O_CREAT | os.O_TRUNC),
        "allocate": lambda top: opened(top, lambda fd: os.posix_fallocate(fd, at, size)),
        "copy": copy,
        "unlink": lambda top: (top / name).unlink(),
        "unlink an open file": unlink_open,
        "rename": lambda top: (top / name).rename(top / other) and None,
        "link": lambda top: os.link(top / name, top / other),
        "mode": lambda top: (top / name).chmod(0o640),
        "stat": lambda top: ((top / name).stat().st_size, (top / name).stat().st_mode, (top / name).stat().st_nlink),
        "list": lambda top: sorted(os.listdir(top / "base/5")),
    }
    kind = chosen.choice([*steps, "write", "write", "create"])
    return f"{kind} {name} {other} {at} {size} {length}", steps[kind]


def files(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def test_many_operations(mount: Mount, tmp_path: Path) -> None:
    chosen = random.Random(7)
    done = []
    for _ in range(2000):
        name, action = step(chosen)
        done.append(name)
        assert answer(action, mount.point) == answer(action, tmp_path / "twin"), done[-12:]
    shown = files(mount.point)
    assert shown == files(tmp_path / "twin")
    mount.end()
    assert files(mount.data) == shown


def test_more_pages_than_memory(mount: Mount, tmp_path: Path) -> None:
    """They are written back under pressure, without any fsync."""
    chosen = random.Random(3)
    with (mount.point / NAMES[0]).open("wb+", buffering=0) as file:
        for _ in range(5000):
            page = chosen.randrange(3000)
            os.pwrite(file.fileno(), page.to_bytes(4, "big") * (PAGE // 4), page * PAGE)
        figures = mount.figures()
        assert int(figures["pages_protected"]) > 0
        assert int(figures["pages_dirty"]) <= int(figures["pages_of_memory"]) == 1024
    whole = (mount.point / NAMES[0]).read_bytes()
    for page in range(len(whole) // PAGE):
        assert whole[page * PAGE : (page + 1) * PAGE] in (page.to_bytes(4, "big") * (PAGE // 4), bytes(PAGE))
    mount.end()
    assert (mount.data / NAMES[0]).read_bytes() == whole


def test_what_a_server_does_beside_pages(mount: Mount) -> None:
    base = mount.point / "base/5"
    direct = os.open(base / "16390", os.O_RDWR | os.O_CREAT | os.O_DIRECT | os.O_DSYNC, 0o600)
    with mmap.mmap(-1, PAGE) as aligned:
        aligned.write(b"x" * PAGE)
        assert os.pwritev(direct, [aligned], 0) == PAGE
    assert (mount.data / "base/5/16390").read_bytes() == b"x" * PAGE  # O_DSYNC: it is in its place
    os.close(direct)
    lock = (base / "16390").open("rb"), (base / "16390").open("rb")
    fcntl.flock(lock[0], fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        fcntl.flock(lock[1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (base / "segment").open("wb+") as file:  # as dynamic_shared_memory_type = mmap
        file.truncate(PAGE)
        with mmap.mmap(file.fileno(), PAGE) as one, mmap.mmap(file.fileno(), PAGE) as two:
            one[5:8] = b"abc"
            assert two[5:8] == b"abc"
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)
    assert os.statvfs(base).f_bsize > 0


def test_a_tablespace_is_shown_by_the_mount(mount: Mount, tmp_path: Path) -> None:
    """A link to a folder elsewhere would lead past the mount, to pages that nothing protects."""
    (tmp_path / "space").mkdir()
    (mount.point / "pg_tblspc").mkdir()
    (mount.point / "pg_tblspc/16400").symlink_to(tmp_path / "space")
    assert (mount.point / "pg_tblspc/16400").readlink().is_relative_to(mount.point)
    (mount.point / "pg_tblspc/16400/PG_18_202506291/5").mkdir(parents=True)
    with (mount.point / "pg_tblspc/16400/PG_18_202506291/5/16401").open("wb", buffering=0) as file:
        file.write(b"s" * PAGE)
        assert mount.figures()["pages_dirty"] == "1"
        os.fsync(file.fileno())
        assert mount.figures()["pages_dirty"] == "0"
    assert (tmp_path / "space/PG_18_202506291/5/16401").read_bytes() == b"s" * PAGE
    assert (mount.data / "pg_tblspc/16400").readlink() == tmp_path / "space"


def test_a_tablespace_that_leads_into_the_mount_is_refused(mount: Mount) -> None:
    """As a base backup of a server on it has them: who followed the link would wait for itself for ever."""
    (mount.data / "pg_tblspc").mkdir()
    (mount.data / "pg_tblspc/16400").symlink_to(mount.point / ".pgquern-tblspc/16400")
    with pytest.raises(OSError, match="symbolic links"):
        os.listdir(mount.point / "pg_tblspc/16400/PG_18_202506291")
    assert "in the mount itself" in mount.figures()["said_last"]


def test_the_log_does_not_pass_through(mount: Mount) -> None:
    direct = mount.wal == "direct"
    assert (mount.point / "pg_wal").is_symlink() == direct
    (mount.point / "pg_wal/segment").write_bytes(b"log")
    assert (mount.data / "pg_wal/segment").read_bytes() == b"log"
    kinds = {entry.name: entry.is_symlink() for entry in os.scandir(mount.point)}
    assert kinds["pg_wal"] == direct


def some_calls(base: Path, seed: int) -> None:
    """What a server's processes ask of three relations at a time."""
    chosen = random.Random(seed)
    for _ in range(400):
        path = base / str(16384 + chosen.randrange(3))
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        at, kind = chosen.randrange(300) * PAGE, chosen.randrange(40)
        if kind < 25:
            os.pwrite(fd, bytes([kind + 1]) * PAGE, at)
        elif kind < 35:
            os.pread(fd, 3 * PAGE, at)
        elif kind < 37:
            os.fsync(fd)
        elif kind < 39:
            os.ftruncate(fd, at)
        else:
            with suppress(FileNotFoundError):
                path.unlink()
        os.close(fd)


def test_no_data_race(tmp_path: Path) -> None:
    """ThreadSanitizer looks at all of the program, while pages are written back beside writes, cuts and unlinks."""
    name = "build/mount/pgquern-mount.tsan"
    subprocess.run(["make", "-s", name], cwd=TOP, check=True)
    for folder in ("data/base/5", "data/pg_wal", "mnt"):
        (tmp_path / folder).mkdir(parents=True)
    # The thread for signals is never joined.
    options = {"TSAN_OPTIONS": f"log_path={tmp_path}/found report_thread_leaks=0"}
    cache = (1, tmp_path / "ssd", 8)
    mount = Mount(tmp_path / "data", tmp_path / "mnt", memory=1, cache=cache, environment=options, program=TOP / name)
    if subprocess.run([*FIXED_ADDRESSES, "true"], capture_output=True).returncode == 0:
        mount.words[:0] = FIXED_ADDRESSES
    with mount:
        threads = [Thread(target=some_calls, args=(mount.point / "base/5", seed)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert int(mount.figures()["pages_protected"]) > 100
        mount.end()
    assert [path.read_text() for path in tmp_path.glob("found*")] == []
