# SPDX-License-Identifier: PostgreSQL
"""Steps of the double-write protocol that its model (spec/tornpage/doublewrite.tla) found to matter, one at a time."""

import errno
import os
import signal
import subprocess
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.common.sleep import until_asleep
from tests.mount.mounted import CRASH, PROGRAM, Mount
from tests.mount.test_crash import FILES, PAGE, contents, made
from tools.mount.__main__ import figures

ONE, OTHER = FILES
SEEDS = 3


def mounted(folder: Path, memory: int = 256, **environment: object) -> Mount:
    named = {f"CRASH_{name.upper()}": str(value) for name, value in environment.items()}
    return Mount(folder / "data", folder / "mnt", memory=memory, environment={"LD_PRELOAD": str(CRASH), **named})


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


def allocated(path: Path) -> None:
    """Seven pages, which are zeroes where there were none, and durable."""
    fd = os.open(path, os.O_RDWR)
    os.posix_fallocate(fd, 0, 7 * PAGE)
    os.fsync(fd)
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
        allocated(one)
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


def test_each_file_of_a_batch_hears_of_its_error(tmp_path: Path) -> None:
    """The pages of the other file rode for free: its own fsync tries again, which is well, and still tells."""
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    with mounted(tmp_path, fails=first + 1) as mount:
        one, other = mount.point / "base" / ONE, mount.point / "base" / OTHER
        write(one, 4, 2)
        write(other, 4, 2)
        for path in (one, other):
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                sync(path)
        sync(other)
        mount.end(signal.SIGKILL)
    assert page_of(tmp_path / "data/base" / OTHER, 4) == contents(2, 4)


def test_nothing_is_repaired_from_an_area_that_cannot_be_synced(tmp_path: Path) -> None:
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    left = tmp_path / "left"
    with mounted(tmp_path, at=first + 2, left=left) as mount:
        write(mount.point / "base" / ONE, 4, 2)
        with pytest.raises(OSError, match="connect"):
            sync(mount.point / "base" / ONE)
    mount.wait()
    for fails in (1, 2):  # the area is written again, and synced
        again = {**os.environ, "LD_PRELOAD": str(CRASH), "CRASH_FAILS": str(fails)}
        assert subprocess.run([PROGRAM, tmp_path / "data"], env=again, capture_output=True).returncode != 0
        assert page_of(tmp_path / "data/base" / ONE, 4) == contents(1, 4)
    subprocess.run([PROGRAM, tmp_path / "data"], check=True, capture_output=True)
    assert page_of(tmp_path / "data/base" / ONE, 4) == contents(2, 4)


def test_a_file_is_not_cut_while_the_area_has_its_pages(tmp_path: Path) -> None:
    """The area cannot be emptied. Before the next try the file is as it was; after it no page comes back."""
    first = calls_of_a_mount(tmp_path / "calm")
    for again in (False, True):
        here = tmp_path / str(again)
        made(here)
        with mounted(here, fails=first + 6) as mount:
            one = mount.point / "base" / ONE
            write(one, 4, 2)
            sync(one)  # five calls
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                os.truncate(one, 3 * PAGE)
            if again:
                os.truncate(one, 3 * PAGE)
            allocated(one)
            before = page_of(one, 4)
            mount.end(signal.SIGKILL)
        assert before == (bytes(PAGE) if again else contents(2, 4))
        with Mount(here / "data", here / "mnt") as mount:
            assert page_of(mount.point / "base" / ONE, 4) == before, "a page of before the cut is there again"
            mount.end()


def test_the_area_keeps_a_batch_that_failed_in_place_until_it_is_there(tmp_path: Path) -> None:
    """Another file of the batch is to be cut. The power fails at each call of that."""
    first = calls_of_a_mount(tmp_path / "calm")
    for at in range(first + 4, first + 9):
        here = tmp_path / str(at)
        history = made(here)
        with mounted(here, fails=first + 3, at=at, seed=1) as mount:
            base = mount.point / "base"
            history.write(base, ONE, range(1, 7), 2)
            history.write(base, OTHER, range(4, 5), 2)
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                sync(base / ONE)
            with pytest.raises(OSError, match="connect"):
                history.cut(base, OTHER, 3)
        mount.wait()
        with Mount(here / "data", here / "mnt") as mount:
            assert list(history.wrong(mount.point / "base")) == [], f"call {at}"
            mount.end()


def test_the_area_names_no_path_that_a_power_loss_may_change(tmp_path: Path) -> None:
    """The folder of a new name cannot be synced: then the area gets no page of it."""
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    trace = tmp_path / "trace"
    with mounted(tmp_path, fails=first + 1, trace=trace) as mount:
        (mount.point / "base" / ONE).rename(mount.point / "base/5/16999")
        before = trace.stat().st_size
        write(mount.point / "base/5/16999", 4, 2)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            sync(mount.point / "base/5/16999")
        assert trace.stat().st_size == before, "a file was written or synced"
        mount.end(signal.SIGKILL)


def ends(thread: Thread) -> bool:
    thread.join(120)
    return not thread.is_alive()


def test_who_waits_for_room_hears_of_an_error(tmp_path: Path) -> None:
    """The memory is full, and the write-back fails: nothing makes room any more."""
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    gate, found = tmp_path / "gate", list[int | None]()

    def fill(path: Path) -> None:
        try:
            for page in range(200):
                write(path, page, 2)
        except OSError as error:
            found.append(error.errno)

    with mounted(tmp_path, holds=first + 1, gate=gate, broken=first + 1, memory=1) as mount:
        thread = Thread(target=fill, args=(mount.point / "base" / ONE,))
        try:
            thread.start()
            while int(mount.figures()["pages_dirty"]) < 128:
                time.sleep(0.01)
            until_asleep(thread)
            gate.touch()
            assert ends(thread), "it waits for ever"
        finally:
            gate.touch()
            mount.end(signal.SIGKILL)
    assert found == [errno.EIO]


def test_who_waits_for_room_holds_nothing_that_others_need(tmp_path: Path) -> None:
    """A file is cut by an open, and the write-back waits for that, while the memory is full."""
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    gate = tmp_path / "gate"
    with mounted(tmp_path, holds=first + 6, gate=gate, memory=1) as mount:
        one, other = mount.point / "base" / ONE, mount.point / "base" / OTHER
        write(one, 4, 2)
        sync(one)  # five calls; the sixth one empties the area
        threads = [
            Thread(target=lambda: os.close(os.open(one, os.O_RDWR | os.O_TRUNC))),
            Thread(target=write, args=(one, 5, 3)),
        ]
        try:
            threads[0].start()
            until_asleep(threads[0])
            for page in range(128):
                write(other, page, 3)
            threads[1].start()
            until_asleep(threads[1])
            gate.touch()
            assert all(map(ends, threads)), "they wait for each other"
            sync(one)
            assert page_of(one, 5) == contents(3, 5)
        finally:
            gate.touch()
            mount.end(signal.SIGKILL)


def test_a_read_beside_a_cut_gives_what_is_left(tmp_path: Path) -> None:
    first = calls_of_a_mount(tmp_path / "calm")
    made(tmp_path)
    gate, found = tmp_path / "gate", list[bytes]()

    def read(path: Path) -> None:
        fd = os.open(path, os.O_RDONLY)
        found.append(os.pread(fd, 3 * PAGE, 4 * PAGE))
        os.close(fd)

    with mounted(tmp_path, holds=first + 1, gate=gate) as mount:
        one = mount.point / "base" / ONE
        write(one, 4, 2)  # of which half stays, in its place
        threads = [Thread(target=os.truncate, args=(one, 4 * PAGE + 4096)), Thread(target=read, args=(one,))]
        try:
            threads[0].start()
            while int(mount.figures()["pages_unprotected"]) == 0:  # it has the range
                time.sleep(0.01)
            threads[1].start()
            until_asleep(threads[1])
            gate.touch()
            assert all(map(ends, threads))
        finally:
            gate.touch()
            mount.end(signal.SIGKILL)
    assert found == [contents(2, 4)[:4096]]
