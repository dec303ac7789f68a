# SPDX-License-Identifier: PostgreSQL
"""Steps of the double-write protocol that its model (spec/tornpage/doublewrite.tla) found to matter, one at a time."""

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.mount.mounted import CRASH, PROGRAM, Mount
from tests.mount.test_crash import FILES, PAGE, contents, made
from tools.mount.__main__ import figures

ONE, OTHER = FILES
SEEDS = 3


def mounted(folder: Path, **environment: object) -> Mount:
    named = {f"CRASH_{name.upper()}": str(value) for name, value in environment.items()}
    return Mount(folder / "data", folder / "mnt", environment={"LD_PRELOAD": str(CRASH), **named})


def calls_of_a_mount(folder: Path) -> int:
    """Until the first request."""
    made(folder)
    log = folder / "log"
    with mounted(folder, log=log) as mount:
        first = int(log.read_text())
        mount.end()
    return first


def write(path: Path, page: int, version: int) -> None:
    fd = os.open(path, os.O_RDWR)
    assert os.pwrite(fd, contents(version, page), page * PAGE) == PAGE
    os.close(fd)


def sync(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def page_of(path: Path, page: int) -> bytes:
    return path.read_bytes()[page * PAGE : (page + 1) * PAGE]


def test_recovery_does_not_rely_on_an_area_that_was_not_synced(tmp_path: Path) -> None:
    """A kill between the area's write and its sync, and a power loss while the next mount repairs."""
    first = calls_of_a_mount(tmp_path / "calm")
    for seed in range(SEEDS):
        for at in range(1, 6):
            here = tmp_path / f"{seed}-{at}"
            history = made(here)
            left = here / "left"
            with mounted(here, at=first + 2, left=left) as mount:
                history.write(mount.point / "base", ONE, range(3, 5), 2)
                with pytest.raises(OSError, match="connect"):
                    history.sync(mount.point / "base", ONE)
            mount.wait()
            assert left.stat().st_size > 0, "the area was not synced"
            lost = {"LD_PRELOAD": str(CRASH), "CRASH_AT": str(at), "CRASH_LEFT": str(left), "CRASH_SEED": str(seed)}
            subprocess.run([PROGRAM, here / "data"], env={**os.environ, **lost}, capture_output=True)
            subprocess.run([PROGRAM, here / "data"], check=True, capture_output=True)
            assert list(history.wrong(here / "data/base")) == [], f"seed {seed}, call {at} of the recovery"


def test_an_area_that_could_not_be_written_is_still_that_of_the_files_before(tmp_path: Path) -> None:
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    with mounted(tmp_path, fails=first + 6) as mount:
        one, other = mount.point / "base" / ONE, mount.point / "base" / OTHER
        write(one, 4, 2)
        sync(one)  # five calls: the area, its sync, the page, its sync, the file's own sync
        write(other, 0, 2)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync(other)
        os.truncate(one, 3 * PAGE)
        fd = os.open(one, os.O_RDWR)
        os.posix_fallocate(fd, 0, 6 * PAGE)
        os.fsync(fd)
        os.close(fd)
        mount.end(signal.SIGKILL)
    with Mount(tmp_path / "data", tmp_path / "mnt") as mount:
        assert page_of(mount.point / "base" / ONE, 4) == bytes(PAGE), "a page of before the cut is there again"
        mount.end()


def test_an_fsync_covers_what_was_written_after_one_has_failed(tmp_path: Path) -> None:
    """The batch that failed is tried again, and has an older content of the page."""
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    with mounted(tmp_path, fails=first + 3) as mount:
        one = mount.point / "base" / ONE
        write(one, 4, 2)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync(one)
        write(one, 4, 3)
        sync(one)
        mount.end(signal.SIGKILL)
    with Mount(tmp_path / "data", tmp_path / "mnt") as mount:
        assert page_of(mount.point / "base" / ONE, 4) == contents(3, 4), "what the second fsync covered is lost"
        mount.end()


def test_a_batch_that_did_not_reach_the_device_is_tried_again(tmp_path: Path) -> None:
    """A large batch goes to the device in pieces: an error that the kernel tells then, it tells no later sync."""
    pages = 40
    first = calls_of_a_mount(tmp_path / "calm")
    history = made(tmp_path)
    # The area in three pieces, its sync, 32 pages in two pieces, their start on the way, and the wait for them.
    with mounted(tmp_path, fails=first + 8) as mount:
        history.write(mount.point / "base", ONE, range(pages), 2)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync(mount.point / "base" / ONE)
        assert figures(mount.point).values["pages_dirty"] == pages
        history.sync(mount.point / "base", ONE)
        mount.end(signal.SIGKILL)
    assert list(history.wrong(tmp_path / "data/base")) == []


def test_a_write_beyond_all_files_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    with mounted(tmp_path) as mount:
        fd = os.open(mount.point / "base" / ONE, os.O_RDWR)
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            os.pwrite(fd, b"x", 2**63 - 2)
        os.close(fd)
        mount.end()


def test_a_relation_that_has_another_name_is_forgotten_too(tmp_path: Path) -> None:
    made(tmp_path)
    with mounted(tmp_path) as mount:
        folder = mount.point / "base/5"
        os.rename(mount.point / "base" / ONE, folder / "aside")
        write(folder / "aside", 0, 2)
        sync(folder / "aside")
        os.unlink(folder / "aside")
        (folder / "aside").write_bytes(contents(3, 0))
        sync(folder / "aside")
        mount.end(signal.SIGKILL)
    with Mount(tmp_path / "data", tmp_path / "mnt") as mount:
        assert page_of(mount.point / "base/5/aside", 0) == contents(3, 0), "a page of the file that was removed"
        mount.end()
