# SPDX-License-Identifier: PostgreSQL
"""`pgquern snap` on files made here: sound, damaged in each byte and field, foreign; and with a stale xmax."""

import ctypes
import errno
import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ref.snapbuild import SnapBuild, State, purge, purge_catchange
from tools.common.crc32c import crc32c
from tools.snap.__main__ import CannotRead, main, read_all
from tools.snap.file import LAYOUTS, MAGIC, PREFIX

TOP = Path(__file__).parents[2]
HALF = 2**31
NAME = "0-1A2B3C.snap"


def said(path: Path | str, *options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    done = CliRunner().invoke(main, [*options, "--", str(path)], catch_exceptions=False)
    return done.exit_code, done.output


def found(path: Path, *options: str) -> dict[str, Any]:
    (answer,) = json.loads(said(path, "--json", *options)[1])
    return dict(answer)


def sealed(content: bytes) -> bytes:
    """With the right checksum."""
    return content[:4] + struct.pack("<I", crc32c(content[8:])) + content[8:]


def snap(version: int = 6, *, committed: Sequence[int], catchange: Sequence[int] = (), **fields: int) -> bytes:
    """A sound file, unless the fields say otherwise; a dot in a field's name is written as two underscores."""
    return with_fields(fields, version, committed, catchange)


def with_fields(
    fields: dict[str, int], version: int = 6, committed: Sequence[int] = (), catchange: Sequence[int] = ()
) -> bytes:
    layout = LAYOUTS[version]
    values = {"state": 2, "xmin": 100, "xmax": 200, "committed.xcnt": len(committed), "committed.xcnt_space": 128}
    values |= {"catchange.xcnt": len(catchange)} | {name.replace("__", "."): value for name, value in fields.items()}
    body = bytearray(layout.bytes)
    for name, form, at in layout.fields:
        struct.pack_into(form, body, at, values.get(name, 0))
    xids = struct.pack(f"<{len(committed) + len(catchange)}I", *committed, *catchange)
    length = PREFIX.size + len(body) + len(xids)
    return sealed(PREFIX.pack(MAGIC, 0, version, length) + body + xids)


def write(folder: Path, content: bytes, name: str = NAME) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_the_checksum_is_crc_32c() -> None:
    """The check value of the catalogue of CRCs, and the all-zero one of RFC 3720."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA


@pytest.mark.parametrize("version", LAYOUTS)
def test_a_sound_file(tmp_path: Path, version: int) -> None:
    later = [110, 130] if version > 4 else []
    path = write(tmp_path, snap(version, committed=[150, 120, 90], catchange=later))
    status, text = said(path)
    assert (status, f"{path}: sound" in text) == (0, True), text
    assert f"PostgreSQL {LAYOUTS[version].said}" in text
    assert "3 XIDs, 90 to 150: 150, 120, 90" in text
    assert "a purge at xmin 100 keeps 2 of 3 in committed.xip" in text
    assert found(path)["catchange.xip"] == later
    assert found(path, "--xmin", "121")["kept"] == {"committed.xip": [150], "catchange.xip": later[1:]}


def test_a_purge_is_the_oracles_across_the_wrap(tmp_path: Path) -> None:
    committed, catchange = [2**32 - 5, 7, 2**32 - 1, 3], [4, 9, 2**32 - 2]
    for xmin in (2**32 - 3, 5, 2**32 - 5):
        path = write(tmp_path, snap(committed=committed, catchange=catchange, xmin=xmin, xmax=12))
        kept = {"committed.xip": purge(committed, xmin), "catchange.xip": purge_catchange(catchange, xmin)}
        assert found(path)["kept"] == kept
    assert "4 XIDs, 4294967291 to 7" in said(path)[1]


def test_the_command(tmp_path: Path) -> None:
    """As `pgquern snap` runs it, on a folder: in the order of the LSNs, and the status of the worst."""
    write(tmp_path, snap(committed=[150]), "1-0.snap")
    write(tmp_path, snap(committed=[151]), "0-FFFFFF.snap")
    write(tmp_path, b"".join([snap(committed=[151])[:-1], b"\x07"]), "0-1000000.snap")
    command = [sys.executable, "-m", "tools.snap.__main__", "--", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    heads = [line.partition(":")[0] for line in done.stdout.splitlines() if line.startswith(("0-", "1-"))]
    assert heads == ["0-FFFFFF.snap", "0-1000000.snap", "1-0.snap"]
    assert done.stdout.startswith("3 files, 1 with a fault\n"), "the verdict first"


def test_no_changed_byte_is_overlooked(tmp_path: Path) -> None:
    content = snap(committed=[150, 120], catchange=[130])
    for at in range(len(content)):
        broken = bytearray(content)
        broken[at] ^= 0x10
        status, text = said(write(tmp_path, bytes(broken)))
        assert (status, "WRONG: " in text, "What to do: " in text) == (1, True, True), at


@pytest.mark.parametrize("lost", [1, 4, 12, 100, 150, 155])
def test_a_file_that_was_cut(tmp_path: Path, lost: int) -> None:
    content = snap(committed=[150, 120, 130])
    status, text = said(write(tmp_path, content[:-lost]))
    assert (status, f"{len(content) - lost:,} bytes" in text) == (1, True), text


FIELDS = {
    "state is 1: only a builder that is CONSISTENT": {"state": 1},
    "xmin is 2, which is no normal XID": {"xmin": 2},
    "xmax is 0, which is no normal XID": {"xmax": 0},
    "committed.xcnt 3 lies above xcnt_space 1": {"committed__xcnt_space": 1},
    "committed.xcnt and catchange.xcnt say 9 XIDs": {"committed__xcnt": 9},
    "committed.xcnt and catchange.xcnt say 1,099,511,627,779 XIDs": {"catchange__xcnt": 2**40},
    "building_full_snapshot is 7, neither 0 nor 1": {"building_full_snapshot": 7},
    "last_serialized_snapshot 0/FFFFFF lies after the file's own LSN 0/1A2B3C": {"last_serialized_snapshot": 0xFFFFFF},
}


@pytest.mark.parametrize("words", FIELDS)
def test_a_field_that_cannot_be(tmp_path: Path, words: str) -> None:
    """The checksum is right: whoever wrote it wrote this."""
    status, text = said(write(tmp_path, with_fields(FIELDS[words], committed=[150, 120, 130])))
    assert (status, f"WRONG: {words}" in text) == (1, True), text
    assert "checksum is" not in text


def test_xids_that_cannot_be(tmp_path: Path) -> None:
    text = said(write(tmp_path, snap(committed=[150, 2], catchange=[140, 130])))[1]
    assert "committed.xip: number 2 is 2, which is no normal XID" in text
    assert "catchange.xip is not sorted" in text


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = b"".join(bytes(reversed(snap(committed=[])[at : at + 4])) for at in range(0, 16, 4)) + bytes(128)
    for content, words in {
        b"": "0 bytes: even magic, checksum, version and length have 16",
        b"text, and nothing else\n": "no .snap file has it",
        swapped: "a big-endian machine wrote it",
        snap(committed=[])[:8] + b"\x09" + snap(committed=[])[9:]: "version is 9: PostgreSQL 13 to 18 write 2 (13)",
    }.items():
        status, text = said(write(tmp_path, content))
        assert (status, words in text) == (1, True), text
        status, text = said(write(tmp_path, content, "other"))
        assert (status, "other: no .snap file: " in text, words in text) == (2, True, True), text
    (tmp_path / "empty").mkdir()
    nowhere: dict[Path | str, str] = {
        "": "say which file: pgquern snap /",
        tmp_path / "none": "there is no such file",
        tmp_path / "empty": "no .snap file is in it",
    }
    os.symlink("loop", tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    nowhere |= {
        tmp_path / "loop": "Too many levels of symbolic links",
        tmp_path / "fifo": "no regular file",
        "/dev/zero": "no regular file",
    }
    for path, words in nowhere.items():
        status, text = said(path)
        assert (status, words in text) == (2, True), text

    def refuses(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuses)
    monkeypatch.setattr(os, "listdir", refuses)
    status, text = said(tmp_path)
    assert (status, "run this as the user that owns the cluster" in text) == (2, True), text


def test_a_file_of_any_size(tmp_path: Path) -> None:
    """What is no .snap file by its first bytes is not read to its end."""
    path = write(tmp_path, b"")
    os.truncate(path, 2**36)
    assert "magic is 0x00000000" in said(path)[1]
    write(tmp_path, snap(committed=[]))
    os.truncate(path, 2**31)
    status, text = said(path)
    assert (status, "2,147,483,648 bytes: no server can allocate so much" in text) == (1, True), text


def test_what_a_server_refuses_and_what_it_takes(tmp_path: Path) -> None:
    """It reads as much as the counts say, and checks magic, version and checksum."""
    good = snap(committed=[150], catchange=[120])
    refused = {"cut": good[:-1], "changed": good[:-1] + b"\x01", "too many": snap(committed=[150], committed__xcnt=2)}
    taken = {
        "longer": good + b"\0",
        "length": snap(committed=[]) + bytes(4),
        "state": snap(committed=[], state=1),
        "xmin": snap(committed=[], xmin=2),
    }
    for content in refused.values():
        status, text = said(write(tmp_path, content))
        assert (status, "a server refuses such a file" in text) == (1, True), text
    for content in taken.values():
        status, text = said(write(tmp_path, content))
        assert (status, "none refuses it" in text, "checksum is" in text) == (1, True, False), text


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, snap(committed=[150]), "0-1.snap")
    (tmp_path / "0-2.snap").mkdir()
    os.mkfifo(tmp_path / "0-3.snap")
    os.symlink("nowhere", tmp_path / "0-4.snap")
    status, text = said(tmp_path)
    assert (status, text.splitlines()[0]) == (1, "4 files, 3 with a fault"), text
    assert "0-1.snap: PostgreSQL 17 or 18, xmin 100" in text
    (tmp_path / "0-1.snap").unlink()
    assert said(tmp_path)[0] == 2


def test_a_file_that_a_checkpoint_removed_meanwhile(tmp_path: Path) -> None:
    left = write(tmp_path, snap(committed=[150]))
    answers = read_all([tmp_path / "0-1.snap", left], None)
    assert [answer.path for answer in answers] == [left]
    with pytest.raises(CannotRead):
        read_all([tmp_path / "0-1.snap"], None)


def test_a_stale_xmax(tmp_path: Path) -> None:
    """Near it only how far behind is said; from half of the way on it is stale; past the point it seems ahead."""
    for xmin, status, words in (
        (1000, 0, "xmax lies 800 XIDs behind xmin"),
        (200 + 2**30 - 1, 0, "which does no harm"),
        (200 + 2**30, 1, f"STALE xmax: it lies {2**30:,} XIDs behind xmin"),
        (200 + HALF - 10, 1, f"of XID {200 + HALF} (xmax + 2^31, 10 after xmin)"),
        (200 + HALF + 10, 1, f"STALE xmax: it seems {HALF - 10:,} XIDs ahead of xmin"),
    ):
        path = write(tmp_path, snap(committed=[], xmin=xmin))
        assert (said(path)[0], words in said(path)[1]) == (status, True), said(path)
        assert said(path)[1].startswith(f"{path}: sound\n") == (status == 0), "the first line is the verdict"


def test_what_is_invisible_is_so_for_the_oracle(tmp_path: Path) -> None:
    """The finding, by the oracle: the younger commits first, opposite to xmax. Then another catalog change mends it."""
    older, younger = 200 + HALF - 1, 200 + HALF
    builder = SnapBuild(state=State.CONSISTENT, xmin=older - 3, xmax=200)
    builder.commit_txn(younger, changed={younger})
    builder.commit_txn(older, changed={older})
    path = write(tmp_path, snap(committed=builder.committed, xmin=builder.xmin, xmax=builder.xmax))
    assert not builder.build_snapshot().sees(younger, lambda _: True)
    assert found(path)["invisible"] == [younger]
    status, text = said(path)
    assert (status, f"LOST: 1 committed XIDs lie at or past xmax ({younger})" in text) == (1, True), text
    builder.commit_txn(younger + 1, changed={younger + 1})
    assert builder.build_snapshot().sees(younger, lambda _: True)
    path = write(tmp_path, snap(committed=builder.committed, xmin=builder.xmin, xmax=builder.xmax))
    assert (said(path)[0], found(path)["invisible"]) == (0, [])


def c_struct(version: int) -> type[ctypes.Structure]:
    """Struct SnapBuild as upstream declares it, laid out by the rules of C."""
    lsn, xid, pointer, size, flag = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool
    newer = version > 2
    fields = [
        ("state", ctypes.c_int), ("context", pointer), ("xmin", xid), ("xmax", xid), ("start_decoding_at", lsn),
        *([("two_phase_at", lsn)] if newer else []),
        ("initial_xmin_horizon", xid), ("building_full_snapshot", flag),
        *([("in_slot_creation", flag)] if version == 6 else []),
        ("snapshot", pointer), ("last_serialized_snapshot", lsn), ("reorder", pointer),
        *([("next_phase_at", xid)] if newer else [
            ("was_running.was_xmin", xid), ("was_running.was_xmax", xid), ("was_xcnt", size), ("was_xcnt_space", size),
            ("was_xip", pointer),
        ]),
        ("committed.xcnt", size), ("committed.xcnt_space", size), ("committed.includes_all_transactions", flag),
        ("committed.xip", pointer),
        *([("catchange.xcnt", size), ("catchange.xip", pointer)] if version > 4 else []),
    ]  # fmt: skip
    return type("SnapBuild", (ctypes.Structure,), {"_fields_": fields})


@pytest.mark.parametrize("version", LAYOUTS)
def test_the_fields_lie_where_a_c_compiler_puts_them(version: int) -> None:
    """Servers leave most of them zero, so their files cannot tell."""
    layout, declared = LAYOUTS[version], c_struct(version)
    assert layout.bytes == ctypes.sizeof(declared)
    for name, form, at in layout.fields:
        place = getattr(declared, name)
        assert (at, struct.calcsize(form)) == (place.offset, place.size), name


def test_what_xmin_decides_is_not_invisible(tmp_path: Path) -> None:
    """Past xmax, but before xmin: pg_xact is asked."""
    status, text = said(write(tmp_path, snap(committed=[150], xmin=200, xmax=100)))
    assert (status, "xmax lies 100 XIDs behind xmin" in text) == (0, True), text
    status, text = said(write(tmp_path, snap(committed=[150], xmin=200, xmax=200)))
    assert (status, "behind xmin" in text) == (0, False), text


def test_the_point_opposite_to_xmax_lies_on_the_ring(tmp_path: Path) -> None:
    _, text = said(write(tmp_path, snap(committed=[], xmin=100, xmax=HALF + 100)))
    assert "on both sides of XID 100 (xmax + 2^31, 0 after xmin)" in text


def test_the_last_file_may_be_this_one(tmp_path: Path) -> None:
    assert said(write(tmp_path, snap(committed=[], last_serialized_snapshot=0x1A2B3C)))[0] == 0
    status, text = said(write(tmp_path, snap(committed=[], last_serialized_snapshot=0x1A2B3D)))
    assert (status, "it was renamed" in text) == (1, True), text


def test_a_version_that_the_cluster_refuses(tmp_path: Path) -> None:
    folder = tmp_path / "pg_logical" / "snapshots"
    folder.mkdir(parents=True)
    for version, layout in LAYOUTS.items():
        path = write(folder, snap(version, committed=[]))
        for major in range(13, 19):
            (tmp_path / "PG_VERSION").write_text(f"{major}\n")
            status, text = said(path)
            refused = major not in layout.majors
            assert (status, f"writes: {major}, its cluster's, does not" in text) == (refused, refused), text
            assert ("a server refuses such a file" in text) == refused
    for says, words in {"12": "its cluster is of PostgreSQL 12: known", "?": "PG_VERSION is damaged"}.items():
        (tmp_path / "PG_VERSION").write_text(says)
        status, text = said(folder)
        assert (status, words in text) == (2, True), text


def test_a_path_through_a_plain_file(tmp_path: Path) -> None:
    write(tmp_path, b"", "plain")
    status, text = said(tmp_path / "plain" / NAME)
    assert (status, "plain is a plain file, no folder" in text) == (2, True), text
