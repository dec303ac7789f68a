# SPDX-License-Identifier: PostgreSQL
"""`pgquern snap` on a folder: how many files there are, which slot keeps them, and what would let them go."""

import struct
from pathlib import Path

import pytest

from tests.snapbuild.test_snap import said, sealed, snap, write
from tools.snap.slots import MAGIC, NoSlotError, Slot, decode


def state(slot: Slot, version: int = 5) -> bytes:
    """pg_replslot/NAME/state."""
    name = slot.name.encode().ljust(64, b"\0")
    fields = struct.pack("<64sIIII", name, slot.database, 0, slot.xmin, slot.catalog_xmin)
    fields += struct.pack("<QQQ", slot.restart_lsn, slot.invalid, slot.confirmed_flush) + bytes(64)
    return sealed(struct.pack("<IIII", MAGIC, 0, version, len(fields)) + fields)


def slot(name: str, restart_lsn: int, *, database: int = 5, invalid: bool = False) -> Slot:
    return Slot(name, database, 0, 700, restart_lsn, restart_lsn + 8, invalid)


def cluster(top: Path, *slots: Slot, files: int = 30) -> Path:
    """The folder of .snap files of a made data directory: one each 4096 bytes of log."""
    folder = top / "pg_logical" / "snapshots"
    folder.mkdir(parents=True)
    for i in range(1, files + 1):
        write(folder, snap(committed=[150]), f"0-{4096 * i:X}.snap")
    (top / "pg_replslot").mkdir()
    for one in slots:
        (top / "pg_replslot" / one.name).mkdir()
        (top / "pg_replslot" / one.name / "state").write_bytes(state(one))
    return folder


def test_the_slot_with_the_oldest_restart_lsn_keeps_them(tmp_path: Path) -> None:
    """A physical slot and an invalid one keep no .snap file."""
    slots = [slot("late", 4096 * 21), slot("old", 4096 * 6), slot("standby", 4096, database=0)]
    folder = cluster(tmp_path, *slots, slot("broken", 4096, invalid=True))
    status, text = said(folder)
    assert status == 0
    assert text.startswith("30 files, 0 with a fault\n  0/1000 to 0/1E000, "), text
    assert "one for 4,096 bytes of log" in text
    assert "KEPT by slot old (database 5): 25, from its restart_lsn 0/6000 on; it has confirmed 0/6008" in text
    assert "The next checkpoint removes the 5 before that" in text
    assert "without it slot late keeps those from 0/15000 on: 15 fewer" in text
    assert "pg_drop_replication_slot('old')" in text
    assert "10 sound files are not shown" in text
    assert text.count(".snap: ") == 20


@pytest.mark.parametrize("slots", [(), (slot("standby", 4096, database=0),), (slot("broken", 4096, invalid=True),)])
def test_without_a_logical_slot_they_all_go(slots: tuple[Slot, ...], tmp_path: Path) -> None:
    assert "no logical slot needs them: the next checkpoint removes them all" in said(cluster(tmp_path, *slots))[1]


def test_a_damaged_file_is_shown_wherever_it_is(tmp_path: Path) -> None:
    folder = cluster(tmp_path, slot("old", 4096))
    (folder / f"0-{4096 * 29:X}.snap").write_bytes(b"no snap")
    status, text = said(folder)
    assert (status, "0-1D000.snap: damaged" in text, "9 sound files are not shown" in text) == (1, True, True), text


def test_a_folder_outside_of_a_cluster(tmp_path: Path) -> None:
    folder = cluster(tmp_path)
    (tmp_path / "pg_replslot").rmdir()
    assert "which slot keeps them is not known" in said(folder)[1]


def test_a_slot_that_no_server_takes_is_named(tmp_path: Path) -> None:
    """Each bit of what the checksum covers counts, and each cut."""
    whole = state(slot("old", 4096))
    assert decode(whole) == slot("old", 4096)
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(NoSlotError):
            decode(bytes(damaged))
    for length in range(len(whole)):
        with pytest.raises(NoSlotError):
            decode(whole[:length])
    folder = cluster(tmp_path, slot("old", 4096))
    (tmp_path / "pg_replslot" / "old" / "state").write_bytes(whole[:-1])
    assert "WRONG: slot old: it says 168 bytes after the first 16, and has 167" in said(folder)[1]
