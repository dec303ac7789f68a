# SPDX-License-Identifier: PostgreSQL
"""A power loss at each write and each sync of a small history, and one while or after the mount recovers from it: no
page is torn, and what was synced is there.

crash.c says what a power loss is. The history: pages of two files are written, some twice, synced, a file is cut and
made longer, another one is replaced by a new one of its name.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.mount.mounted import CRASH, PROGRAM, Mount, changed

PAGE = 8192
FILES = ("5/16384", "5/16385")
AGAIN = 29
"""Calls until the second crash, at most."""


def contents(version: int, page: int) -> bytes:
    """Of a page: its halves are not alike, and no other page's."""
    return b"".join(b"%08d" % (version * 1_000_000 + page * 1000 + i % 512) for i in range(PAGE // 8))


@dataclass
class History:
    """What the pages may be after a crash: by file and page the versions since the last sync, the synced one first. 0
    is a page of zeroes, None that the file is shorter."""

    may_be: dict[tuple[str, int], list[int | None]] = field(default_factory=dict)

    def write(self, base: Path, name: str, pages: range, version: int) -> None:
        """All pages in one request."""
        fd = os.open(base / name, os.O_RDWR | os.O_CREAT, 0o600)
        for page in pages:
            versions = self.may_be.setdefault((name, page), [None])
            versions += [0, version] if versions[-1] is None else [version]
        data = b"".join(contents(version, page) for page in pages)
        assert os.pwrite(fd, data, pages.start * PAGE) == len(data)
        os.close(fd)

    def sync(self, base: Path, name: str) -> None:
        """Of a folder: what is not there any more."""
        fd = os.open(base / name, os.O_RDONLY if (base / name).is_dir() else os.O_RDWR)
        os.fsync(fd)
        os.close(fd)
        for (of, page), versions in self.may_be.items():
            if of == name or (of.startswith(f"{name}/") and versions[-1] is None):
                self.may_be[of, page] = versions[-1:]

    def cut(self, base: Path, name: str, pages: int) -> None:
        for (of, page), versions in self.may_be.items():
            if of == name and page >= pages:
                versions.append(None)
        os.truncate(base / name, pages * PAGE)

    def replace(self, base: Path, name: str) -> None:
        for (of, _), versions in self.may_be.items():
            if of == name:
                versions.append(None)
        os.unlink(base / name)
        self.sync(base, "5")
        os.close(os.open(base / name, os.O_RDWR | os.O_CREAT, 0o600))

    def other_file(self, base: Path) -> None:
        """A write that passes through: a crash here finds the area as it is."""
        (base / "other").write_bytes(b"other")

    def run(self, base: Path) -> None:
        """OSError: the crash."""
        one, other = FILES
        self.write(base, one, range(2, 5), 2)
        self.write(base, other, range(7), 2)
        self.write(base, one, range(3, 4), 3)
        self.sync(base, one)  # takes the pages of the other one along
        self.write(base, one, range(7), 4)
        self.sync(base, one)
        self.sync(base, other)
        self.cut(base, one, 3)
        self.sync(base, one)
        self.other_file(base)
        self.write(base, one, range(1, 9), 5)
        self.cut(base, one, 8)
        self.sync(base, one)
        self.other_file(base)
        self.write(base, other, range(3, 7), 5)
        self.sync(base, other)
        self.replace(base, other)
        self.other_file(base)
        self.write(base, other, range(3), 6)
        self.sync(base, other)

    def wrong(self, base: Path) -> Iterator[str]:
        """What is torn, and what was lost though it was synced."""
        for (name, page), versions in sorted(self.may_be.items()):
            path = base / name
            found = path.read_bytes()[page * PAGE : (page + 1) * PAGE] if path.exists() else b""
            allowed = {b"" if v is None else contents(v, page) if v else bytes(PAGE) for v in versions}
            if found not in allowed:
                whole = {b"", bytes(PAGE), *(contents(v, page) for v in range(1, 7))}
                yield f"{name} page {page} is {'lost' if found in whole else 'torn'}"


def made(folder: Path) -> History:
    """A data directory, synced, and a folder to mount it."""
    (folder / "mnt").mkdir(parents=True)
    (folder / "data/base/5").mkdir(parents=True)
    (folder / "data/PG_VERSION").write_text("18\n")
    history = History()
    for name in FILES:
        history.write(folder / "data/base", name, range(7), 1)
        history.sync(folder / "data/base", name)
    return history


def after_crashes(
    folder: Path, protect: str = "double-write", forgets: str = "", program: Path = PROGRAM
) -> Iterator[list[str]]:
    """For each crash what was wrong after it."""
    log = folder / "log"
    calm = {"LD_PRELOAD": str(CRASH), "CRASH_LOG": str(log)}
    made(folder / "calm")
    with Mount(folder / "calm/data", folder / "calm/mnt", protect=protect, environment=calm, program=program) as mount:
        first = int(log.read_text()) if log.exists() else 0
        made(folder / "other").run(mount.point / "base")
        last = int(log.read_text())
        mount.end()
    for at in range(first + 1, last + 1):
        for seed in (1, 2):
            here = folder / f"{at}-{seed}"
            history = made(here)
            loss = {"LD_PRELOAD": str(CRASH), "CRASH_AT": str(at), "CRASH_SEED": str(seed), "CRASH_FORGETS": forgets}
            mount = Mount(here / "data", here / "mnt", protect=protect, environment=loss, program=program)
            with mount, pytest.raises(OSError, match="connect"):
                history.run(mount.point / "base")
            mount.wait()
            assert not (here / "data/PG_VERSION").exists()
            loss["CRASH_AT"] = str(1 + (3 * at + seed) % AGAIN)
            again = Mount(here / "data", here / "mnt", protect=protect, environment=loss, program=program)
            if again.start().returncode == 0:
                with suppress(OSError):
                    for _ in range(AGAIN):
                        history.other_file(again.point / "base")
            again.__exit__()
            again.wait()
            with Mount(here / "data", here / "mnt", protect=protect, program=program) as mount:
                yield [f"call {at}, seed {seed}: {what}" for what in history.wrong(mount.point / "base")]
                mount.end()
            assert (here / "data/PG_VERSION").exists()
            assert not [path for path in (here / "data").iterdir() if "pgquern" in path.name]


def test_no_page_is_torn_and_none_lost(tmp_path: Path) -> None:
    after = list(after_crashes(tmp_path))
    assert [what for wrong in after for what in wrong] == []
    assert len(after) > 60


def test_without_protection_a_page_is_torn(tmp_path: Path) -> None:
    assert any("torn" in what for wrong in after_crashes(tmp_path, "none") for what in wrong)


def test_without_its_syncs_a_page_is_torn(tmp_path: Path) -> None:
    """The area and the pages in place are synced by fdatasync: that they are in order hangs on it."""
    assert any("torn" in what for wrong in after_crashes(tmp_path, forgets="fdatasync") for what in wrong)


CHANGES = {
    "the area is not synced": (
        "area.c",
        "    if ((failed = io_sync(area.fd)) != 0)\n        return failed;\n    area.unsure", "    area.unsure",
    ),
    "in place before the area": (
        "write_back.c",
        "        (failed = area_write(data_fd, slots, batch, bytes_of_batch)) == 0) {\n        pending = true;\n"
        "        failed = in_place();\n",
        "        (failed = in_place()) == 0) {\n        failed = area_write(data_fd, slots, batch, bytes_of_batch);\n",
    ),
    "fsync returns early": (
        "pages.c",
        "    int failed = write_back_all(file);\n    write_back_unlock", "    int failed = 0;\n    write_back_unlock",
    ),
    "pages leave before they are synced": ("write_back.c", "(failed = io_sync(slots[i].fd)) != 0)", "failed != 0)"),
    "the area keeps what was unlinked or cut": (
        "pages.c", "    if (ino != 0 && !area_holds(dev, ino))", "    if (ino != 0)",
    ),
    "a torn batch counts": ("area.c", " || crc_of(bytes + h.size + (size_t)i * PAGE, PAGE) != entries[i].crc)", ")"),
    "what is repaired is not synced": (
        "area.c", "(failed = SYS(fsync(fds[file]))) != 0)", "failed != 0)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_program_loses_or_tears_a_page(name: str, tmp_path: Path) -> None:
    program = changed(tmp_path, *CHANGES[name])
    assert any(after_crashes(tmp_path, program=program))
