# SPDX-License-Identifier: PostgreSQL
"""The mount's cache of pages, in memory and on an SSD: reads give what was written last, whatever the SSD does."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner

from tests.mount.mounted import PROGRAM, Mount, changed
from tools.mount import __main__ as command

PAGE, PAGES, THREADS = 8192, 1500, 4
NAMES = ("16384", "16385")


def page(version: int, number: int) -> bytes:
    return version.to_bytes(4, "big") + number.to_bytes(4, "big") + version.to_bytes(4, "big") * (PAGE // 4 - 2)


def version_of(contents: bytes, number: int) -> int:
    """Of a page that is whole, and in its place."""
    version = int.from_bytes(contents[:4], "big")
    assert contents in (page(version, number), bytes(PAGE))
    return version


def mounted(folder: Path, program: Path = PROGRAM) -> Mount:
    """With 128 pages in memory, and 680 on the SSD."""
    for name in ("data/base/5", "data/pg_wal", "mnt"):
        (folder / name).mkdir(parents=True)
    return Mount(folder / "data", folder / "mnt", memory=8, cache=(1, folder / "ssd", 8), program=program)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with mounted(tmp_path) as mount:
        yield mount


def wrong(found: bytes, expected: bytes) -> list[int]:
    """The numbers of pages that differ: of all bytes pytest would look for the smallest difference, for an hour."""
    size = max(len(found), len(expected))
    return [at // PAGE for at in range(0, size, PAGE) if found[at : at + PAGE] != expected[at : at + PAGE]]


class Worker(Thread):
    """Writes pages of its own, and reads all. A version of a page is never older than one that was read before."""

    def __init__(self, base: Path, number: int) -> None:
        super().__init__()
        self.base, self.number, self.wrong = base, number, ""

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.wrong = repr(error)

    def work(self) -> None:
        chosen, seen = random.Random(self.number), dict[tuple[str, int], int]()
        files = {name: os.open(self.base / name, os.O_RDWR | os.O_CREAT, 0o600) for name in NAMES}
        for version in range(1, 1200):
            name = chosen.choice(NAMES)
            at = int(chosen.paretovariate(0.4)) * 7 % PAGES if version % 3 else chosen.randrange(PAGES)
            if version % 2:
                at -= at % THREADS - self.number
                os.pwrite(files[name], page(version, at), at * PAGE)
                seen[name, at] = version
            n = 16 if version % 5 == 0 else 1
            found = os.pread(files[name], n * PAGE, at * PAGE)
            for i in range(len(found) // PAGE):
                now = version_of(found[i * PAGE : (i + 1) * PAGE], at + i)
                mine = (at + i) % THREADS == self.number
                assert now == seen.get((name, at + i), 0) if mine else now >= seen.get((name, at + i), 0), at + i
                seen[name, at + i] = now
            if version % 400 == 0:
                os.fsync(files[name])
        for fd in files.values():
            os.close(fd)


def figures(mount: Mount) -> dict[str, int]:
    return {name: int(value) for name, value in mount.figures().items() if value.isdecimal()}


def test_threads_read_what_was_written_last(mount: Mount) -> None:
    workers = [Worker(mount.point / "base/5", number) for number in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.wrong for worker in workers] == [""] * THREADS
    found = figures(mount)
    assert min(found[f"cache_{what}"] for what in ("memory_hits", "ssd_hits", "reads_below")) > 0
    shown = [(mount.point / "base/5" / name).read_bytes() for name in NAMES]
    mount.end()
    for name, pages in zip(NAMES, shown, strict=True):
        assert wrong((mount.data / "base/5" / name).read_bytes(), pages) == []


@pytest.mark.parametrize("rest", [0, 100])
def test_a_file_that_was_cut_has_zeros_where_it_grows_again(mount: Mount, rest: int) -> None:
    """What the cache had behind the new end it forgets, be it read, written, or read ahead of two pages; also where the
    end is no whole page, and is written past the cache."""
    path = mount.point / "base/5/16384"
    for name in ("16385", "16386"):  # what is read ahead of these stays in memory that is used again
        (mount.point / "base/5" / name).write_bytes(b"".join(page(9, number) for number in range(800)))
    assert (mount.point / "base/5/16385").read_bytes()[-PAGE:] == page(9, 799)
    with path.open("wb+", buffering=0) as file:
        for version, cut in enumerate((40, 41, 55, 8), start=1):
            file.truncate(0)
            for now in (version + 10, version):
                whole = b"".join(page(now, number) for number in range(100))
                os.pwrite(file.fileno(), whole, 0)
                os.fsync(file.fileno())
                assert wrong(path.read_bytes(), whole) == []
            file.truncate(cut * PAGE + rest)
            os.pread(file.fileno(), 2 * PAGE, (cut - 2) * PAGE)
            os.pwrite(file.fileno(), b"end"[:rest], cut * PAGE)
            os.pread(file.fileno(), 2 * PAGE, (cut - 2) * PAGE)
            os.pwrite(file.fileno(), page(version, 99), 99 * PAGE)
            left = bytearray(whole[: cut * PAGE + rest])
            left[cut * PAGE :] = (b"end" + left[cut * PAGE + 3 :])[:rest]
            assert wrong(path.read_bytes(), bytes(left.ljust(99 * PAGE, b"\0")) + page(version, 99)) == []


def test_a_new_file_of_the_same_name_has_nothing_of_the_old_one(mount: Mount) -> None:
    path = mount.point / "base/5/16384"
    for version in range(1, 4):
        path.write_bytes(b"".join(page(version, number) for number in range(50)))
        assert path.read_bytes()[:PAGE] == page(version, 0)
        path.unlink()
        with path.open("wb+", buffering=0) as file:
            os.pwrite(file.fileno(), page(version + 10, 49), 49 * PAGE)
        assert wrong(path.read_bytes(), bytes(49 * PAGE) + page(version + 10, 49)) == []


def test_the_ssd_may_be_lost_at_any_time(mount: Mount, tmp_path: Path) -> None:
    path = mount.point / "base/5/16384"
    with path.open("wb", buffering=0) as file:
        file.write(b"".join(page(1, number) for number in range(600)))
        os.fsync(file.fileno())
    for _ in range(4):
        assert [version_of(path.read_bytes()[n * PAGE : (n + 1) * PAGE], n) for n in (0, 300, 599)] == [1, 1, 1]
    assert figures(mount)["cache_ssd_hits"] > 0
    os.truncate(tmp_path / "ssd", 0)
    assert wrong(path.read_bytes(), b"".join(page(1, number) for number in range(600))) == []


def test_a_mount_after_a_kill_trusts_no_ssd(mount: Mount, tmp_path: Path) -> None:
    path = mount.point / "base/5/16384"
    for version in (1, 2):
        with path.open("rb+" if version > 1 else "wb", buffering=0) as file:
            file.write(b"".join(page(version, number) for number in range(600)))
            os.fsync(file.fileno())
        path.read_bytes()
        mount.end(signal.SIGKILL)
        mount.__exit__()
        mount.start()
    assert wrong(path.read_bytes(), b"".join(page(2, number) for number in range(600))) == []


def test_an_ssd_that_has_other_contents_or_another_mount_is_refused(mount: Mount, tmp_path: Path) -> None:
    for folder in ("other/base/5", "other/pg_wal", "there"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "other/PG_VERSION").write_text("18\n")
    (tmp_path / "letter").write_text("Dear reader")
    (tmp_path / "image").write_bytes(bytes(1080) + b"a file system, behind its boot block")
    for ssd, why in (
        (tmp_path / "letter", "other contents"),
        (tmp_path / "image", "other contents"),
        (tmp_path / "ssd", "another mount"),
        ("/dev/zero", "neither"),
    ):
        done = Mount(tmp_path / "other", tmp_path / "there", cache=(1, ssd, 8)).start()
        assert done.returncode == 2
        assert why in done.stderr
        assert (tmp_path / "other/PG_VERSION").exists()
    assert (tmp_path / "letter").read_text() == "Dear reader"
    assert (tmp_path / "image").stat().st_size < 2000


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ssd", "data/ssd"], "outside the data directory"),
        (["--ssd", "mnt/ssd"], "outside the data directory"),
        (["--protect", "none", "--cache", "16"], "no page comes to a cache"),
    ],
)
def test_a_wrong_use_is_told(words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command.main, ["data", "mnt", *words])
    assert (done.exit_code, why in done.output) == (2, True), done.output


CHANGES = {
    "the cache is not told of a write": (
        "                cache_write(window, number, size < PAGE ? now : bytes);\n", "                ;\n",
    ),
    "it keeps what was cut": (
        "        failed = -errno;\n    file->window = cache_new_window();\n", "        failed = -errno;\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_program_reads_old_pages(name: str, tmp_path: Path) -> None:
    with (
        mounted(tmp_path / "mounted", changed(tmp_path, "pages.c", *CHANGES[name])) as mount,
        pytest.raises(AssertionError),
    ):
        test_a_file_that_was_cut_has_zeros_where_it_grows_again(mount, 0)
