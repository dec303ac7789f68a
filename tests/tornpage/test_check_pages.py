# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages`: what it says of sound, damaged and unfit files, its exit status, and its picture."""

import os
import struct
import subprocess
import sys
from errno import EIO
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click import Command
from click.testing import CliRunner
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pgquern.tornpage import verdicts

from ref.tornpage import checksums
from tests.page.cluster import cluster
from tests.tornpage.strategies import random_page
from tools.check_pages import relation as check_pages
from tools.check_pages import report
from tools.check_pages.__main__ import main
from tools.common import relation_file
from tools.common.relation_file import cluster_of
from tools.look import __main__ as look

TOP = Path(__file__).parents[2]


def checked(path: Path | str, *options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    done = CliRunner().invoke(main, [*options, "--", str(path)], catch_exceptions=False)
    return done.exit_code, done.output


def relation(tmp_path: Path, name: str = "16384", size: int = 8192, first: int = 0) -> tuple[Path, bytearray]:
    """A file of 40 sound pages, one of them new."""
    rng = Random(3)
    pages = [random_page(rng, size, first + block) for block in range(40)]
    for page in pages:
        page[18:20] = (size | 4).to_bytes(2, "little")
    pages[7] = bytearray(size)
    path = tmp_path / name
    return path, seal(b"".join(pages), size, first)


def seal(pages: bytes, size: int, first: int) -> bytearray:
    """With right checksums."""
    sealed = bytearray(pages)
    for i, checksum in enumerate(checksums(pages, size, first)):
        if any(sealed[i * size : (i + 1) * size]):
            sealed[i * size + 8 : i * size + 10] = checksum.to_bytes(2, "little")
    return sealed


def test_the_command(tmp_path: Path) -> None:
    """As `pgquern check-pages` runs it."""
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    command = [sys.executable, "-m", "tools.check_pages.__main__", "--", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path}: 40 pages of 8192 bytes: 1 new (all zero), 39 sound\n"), "the verdict first"


def test_a_sound_file(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 0
    assert "40 pages of 8192 bytes: 1 new (all zero), 39 sound" in said


def test_holes_are_new_pages_and_are_not_read(tmp_path: Path) -> None:
    """2^27 pages, of which forty lie in the middle and one half at the end."""
    first = 1 << 26
    path, pages = relation(tmp_path, "16384_vm", first=first)
    pages[5 * 8192 + 4096 : 6 * 8192] = Random(9).randbytes(4096)
    with path.open("wb") as file:
        file.truncate((1 << 40) + 4096)
        file.seek(first * 8192)
        file.write(pages)
    status, said = checked(path)
    assert status == 1
    assert "134,217,728 pages of 8192 bytes: 134,217,689 new (all zero), 38 sound, 1 with a wrong checksum" in said
    assert f"block {first + 5}, byte {(first + 5) * 8192}: pd_checksum" in said
    assert "TRUNCATED: 4096 bytes follow the last page" in said
    assert "the last 67,108,824 pages" in said


def test_a_torn_page_is_named_and_drawn(tmp_path: Path) -> None:
    """In the third gigabyte of a relation: block numbers count from the file's first one."""
    first = 2 * 131072
    path, pages = relation(tmp_path, "777777.2", first=first)
    pages[5 * 8192 + 4096 : 6 * 8192] = Random(9).randbytes(4096)
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 1
    assert f"block {first + 5}, byte 40960: pd_checksum" in said
    assert said.count("block ") == 1
    assert "1 with a wrong checksum" in said
    assert (TOP / said.rpartition("picture: ")[2].strip()).read_bytes()[1:4] == b"PNG"


def test_a_part_of_a_page_alone(tmp_path: Path) -> None:
    """There is nothing to draw."""
    (tmp_path / "16384").write_bytes(bytes(8191))
    status, said = checked(tmp_path / "16384")
    assert (status, "TRUNCATED: 8191 bytes are all, 1 less" in said, "picture" in said) == (1, True, False), said


@pytest.mark.parametrize("lost", [1, 4096, 8191])
def test_a_truncated_file(tmp_path: Path, lost: int) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages[:-lost])
    status, said = checked(path)
    assert status == 1
    assert "39 pages of 8192 bytes: 1 new (all zero), 38 sound" in said
    assert f"TRUNCATED: {8192 - lost} bytes follow the last page, {lost} less than a page has" in said
    assert "What to do:" in said


def test_another_block_size(tmp_path: Path) -> None:
    path, pages = relation(tmp_path, size=16384)
    path.write_bytes(pages)
    status, said = checked(path)
    assert (status, "40 pages of 16384 bytes" in said) == (0, True)
    assert checked(path, "--block-size", "16384")[0] == 0
    status, said = checked(path, "--block-size", "8192")
    assert (status, "give --block-size 16384" in said) == (2, True)
    status, said = checked(path, "--block-size", "5000")
    assert (status, "5000 is no size of a block" in said) == (2, True)


def test_files_that_cannot_be_checked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    for name, words in {
        "none": "there is no such file: SELECT pg_relation_filepath",
        "dangling": "the link points nowhere",
        "fifo": "this is a FIFO, which has no pages",
        "/dev/null": "this is a device",
        ".": "no relation is in this directory: give a data directory",
    }.items():
        status, said = checked(tmp_path / name)
        assert (status, words in said) == (2, True), said
    assert checked("")[0] == 2
    path, pages = relation(tmp_path)
    for at in range(0, len(pages), 8192):
        pages[at + 8 : at + 10] = bytes(2)
    path.write_bytes(pages)
    status, said = checked(path)
    assert (status, "without --data-checksums" in said) == (2, True)


def test_an_empty_relation(tmp_path: Path) -> None:
    (tmp_path / "16385").touch()
    status, said = checked(tmp_path / "16385")
    assert (status, "0 pages" in said) == (0, True)


def damaged(pages: bytearray, at: int, value: int) -> bytearray:
    """With two bytes of the third page's header changed, and its checksum right again."""
    pages[2 * 8192 + at : 2 * 8192 + at + 2] = value.to_bytes(2, "little")
    return seal(bytes(pages), 8192, 0)


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (10, 0x48, "pd_flags 0x0048 has bits that no version knows"),
        (12, 9000, "pd_lower 9000 lies above pd_upper"),
        (14, 8200, "pd_upper 8200 lies above pd_special"),
        (16, 8200, "pd_special 8200 lies above 8192, pd_special"),
        (16, 8191, "pd_special 8191 is no multiple of 8"),
        (14, 0, "pd_upper is 0, and the page is not all zero"),
    ],
)
def test_a_broken_header_is_said_field_by_field(tmp_path: Path, at: int, value: int, says: str) -> None:
    """With checksums and without; of a heap, and of what is none."""
    for name in ("16384", "16384_vm"):
        path, pages = relation(tmp_path, name)
        path.write_bytes(damaged(pages, at, value))
        for options, first in (((), "pd_checksum is right; "), (("--no-checksums",), "pd_")):
            status, said = checked(path, *options)
            assert status == 1
            assert f"block 2, byte 16384: {first}" in said
            assert says.partition(", pd_special")[0] in said
            assert "1 with a broken header" in said


def test_a_broken_header_of_a_heap_is_said_once(tmp_path: Path) -> None:
    page = bytearray(heap_page())
    page[14:16] = bytes(2)
    (tmp_path / "16384").write_bytes(heap_page() + page)
    status, said = checked(tmp_path / "16384", "--no-checksums")
    assert (status, said.count("pd_upper is 0")) == (1, 1), said


def test_a_sound_page_without_a_checksum_is_not_read_again_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take a thousand times as long as by the kernels."""
    path, page = tmp_path / "16384", bytearray(heap_page(item(8160)))
    page[8160 + 12 : 8160 + 16] = bytes(4)  # t_ctid: of block 0
    path.write_bytes(page)
    cluster(tmp_path, checksums=False)
    monkeypatch.setattr(check_pages, "said_of", lambda *_: pytest.fail("it is read again"))
    assert checked(path)[0] == 0


def test_a_damaged_size_on_the_first_page_misleads_nobody(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    pages[18:20] = (16384 | 4).to_bytes(2, "little")
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 1
    assert "40 pages of 8192 bytes" in said
    assert "block 0, byte 0: pd_checksum" in said
    assert "pd_pagesize_version 0x4004 says 16384 bytes" in said


def test_a_zeroed_tail_is_said_with_its_size(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages + bytes(3 * 8192))
    status, said = checked(path)
    assert status == 0
    assert "the last 3 pages (24,576 bytes, from byte 327,680 on) are all zero" in said
    assert "352,256 bytes, blocks 0 to 42" in said


def test_a_segment_that_ends_before_the_next_one(tmp_path: Path) -> None:
    """A server that cuts a relation leaves empty segments behind the last one: they say nothing."""
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    (tmp_path / "16384.1").touch()
    assert checked(path)[0] == 0
    (tmp_path / "16384.1").write_bytes(pages[:8192])
    status, said = checked(path)
    assert status == 1
    assert "the next segment exists, so this one must have 131,072 pages; it has 40" in said


def test_a_segment_that_is_lost(tmp_path: Path) -> None:
    """Those before and after it tell, in a cluster: a copy of one segment may lie anywhere."""
    for number in (0, 2):
        path, pages = relation(tmp_path, f"16384.{number}".removesuffix(".0"), first=40 * number)
        path.write_bytes(pages)
    cluster(tmp_path, segment_blocks=40)
    for name in ("16384", "16384.2"):
        status, said = checked(tmp_path / name)
        assert (status, "LOST: segment 1 of the relation is not there" in said) == (1, True), said
    (tmp_path / "16384.1").write_bytes(relation(tmp_path, "16384.1", first=40)[1])
    for name in ("16384", "16384.1", "16384.2"):
        assert checked(tmp_path / name)[0] == 0
    (tmp_path / "16384").unlink()
    status, said = checked(tmp_path / "16384.1")
    assert (status, "LOST: segment 0 of the relation" in said) == (1, True), said


def test_a_segment_that_is_too_long(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    cluster(tmp_path, segment_blocks=40)
    assert checked(path)[0] == 0
    cluster(tmp_path, segment_blocks=39)
    status, said = checked(path)
    assert (status, "TOO LONG: a segment of this cluster has at most 39 pages; this one has 40" in said) == (1, True)


def heap_page(*words: int, lower: int = 0, upper: int = 8160, special: int = 8192, version: int = 8192 | 4) -> bytes:
    """With these line pointers, and where their tuples lie the header of a plain row; no checksum."""
    header = struct.pack("<QHHHHHHI", 1, 0, 0, lower or 24 + 4 * len(words), upper, special, version, 0)
    page = bytearray((header + struct.pack(f"<{len(words)}I", *words)).ljust(8192, b"\0"))
    for number, word in enumerate(words, 1):
        off = word & 0x7FFF
        if word >> 15 & 3 == 1 and 24 + 4 * len(words) <= off <= 8192 - 23:
            struct.pack_into("<IIIHHHHHB", page, off, 3, 0, 0, 0xFFFF, 0xFFFF, number, 1, 0x900, 24)
    return bytes(page)


@pytest.mark.parametrize("checksums", [True, False])
def test_no_checksum_where_the_cluster_is_known(tmp_path: Path, checksums: bool) -> None:
    """A server with checksums refuses the page: 0 is no checksum of a page."""
    path = tmp_path / "16384"
    path.write_bytes(heap_page())
    cluster(tmp_path, checksums=checksums)
    status, said = checked(path)
    assert (status, "block 0, byte 0: pd_checksum 0, calculated" in said) == (int(checksums), checksums), said


def item(off: int, flags: int = 1, length: int = 32) -> int:
    return off | flags << 15 | length << 17


REFUSED = {
    "its tuple lies beyond the special space": heap_page(item(8190, length=100)),
    "its tuple lies in the line pointers": heap_page(item(8000)),
    "not aligned": heap_page(item(8164, length=20)),
    "overlap": heap_page(item(8160), item(8152), upper=8152),
    "too many": heap_page(*(item(8184, length=1) for _ in range(292))),
    "too long together": heap_page(item(8160), item(8160), upper=8160, lower=8152),
    "pd_lower within the header": heap_page(lower=20, upper=20),
    "a special space": heap_page(special=8184),
    "another layout": heap_page(version=8192 | 3),
    "another size": heap_page(version=4096 | 4),
}


@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_kernels_refuse_is_found(tmp_path: Path, name: str, checksums: bool) -> None:
    """Among sound pages, so that the file is a heap's; their checksums are right."""
    sound = heap_page(item(8160))
    path = tmp_path / "16384"
    path.write_bytes(seal(sound + REFUSED[name] + sound, 8192, 0))
    cluster(tmp_path, checksums=checksums)
    refused = look.read(path, 18).refused
    assert list(refused) == [1]
    status, said = checked(path)
    assert (status, f"block 1, byte 8192: {'pd_checksum is right; ' * checksums}{refused[1]}" in said) == (1, True), (
        said
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((item(8160), item(8160)), "line pointer 2: its tuple shares bytes with that of line pointer 1"),
        (
            (item(8128), item(8160), item(8136, length=30)),
            "line pointer 3: its tuple shares bytes with that of line pointer 1",
        ),
        ((item(8128, 3), item(8128)), "line pointer 2: its tuple shares bytes with that of line pointer 1"),
        ((item(8160), item(8128, length=23)), "line pointer 2: a tuple of 23 bytes"),
        ((item(0, length=0),), "line pointer 1: a tuple of 0 bytes"),
        ((item(8160), item(3, 2, 0)), "line pointer 2: a redirect to line pointer 3, of 2"),
        ((item(0, 2, 0),), "line pointer 1: a redirect to line pointer 0"),
        ((item(8160), item(8128, length=24), item(0, 3, 0), 0, item(8160, 0)), ""),
    ],
)
def test_line_pointers_that_no_server_writes(tmp_path: Path, words: tuple[int, ...], says: str) -> None:
    """The kernels accept them; so the second page, which look counts as sound."""
    path = tmp_path / "16384"
    path.write_bytes(seal(heap_page() + heap_page(*words, upper=8128), 8192, 0))
    assert look.read(path, 18).refused == {}
    found = list(report.faults(check_pages.read(path, None)))
    assert [(i, says in why) for i, why in found] == ([(1, True)] if says else []), found


@settings(max_examples=settings().max_examples // 8)
@given(st.binary(min_size=1, max_size=24), st.integers(10, 60))
def test_look_refuses_nothing_that_is_not_found(damage: bytes, at: int) -> None:
    sound = heap_page(*(item(8160 - 32 * i) for i in range(6)), upper=8000)
    page = sound[:at] + damage + sound[at + len(damage) :]
    with TemporaryDirectory() as folder:
        path = Path(folder, "16384")
        path.write_bytes(seal(sound + page + sound, 8192, 0))
        wrong = check_pages.read(path, None).wrong()
        assert set(wrong) >= set(look.read(path, 18).refused)
        assert set(wrong) <= {1}
        event("refused" if wrong else "sound")


def test_line_pointers_of_an_index_are_not_looked_at(tmp_path: Path) -> None:
    """What stands there need not be line pointers."""
    path = tmp_path / "16384"
    path.write_bytes(seal(heap_page(0x053162, 7, 7, special=8176) * 3, 8192, 0))
    assert checked(path)[0] == 0


def test_the_shortest_page_with_a_line_pointer_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "16384"
    path.write_bytes(seal(heap_page(item(8190, length=100)), 8192, 0))
    status, said = checked(path)
    assert (status, "1 with damaged rows or entries" in said, "verify_heapam" in said) == (1, True, True), said


def foreign_files(folder: Path) -> dict[Path, str]:
    """Files and clusters that are not known here, and what check-pages and look say of them."""
    old = heap_page(version=8192 | 3)
    swapped = struct.pack(">QHHHHHHI", 1, 0, 0, 24, 8192, 8192, 8192 | 4, 0).ljust(8192, b"\0")
    plain = folder / "plain"
    plain.write_bytes(b"")
    files = {plain / "16384": f"{plain} is a plain file, no folder"}
    for name, content, words in (
        ("old", old, "the layout 3 of PostgreSQL 8.1 and 8.2"),
        ("swapped", swapped, "a big-endian machine wrote its pages"),
    ):
        (folder / name).write_bytes(content)
        files[folder / name] = words
    swapped_version = int.from_bytes((1300).to_bytes(4, "big"), "little")
    for name, version, aligned, words in (
        ("9.3", 937, 8, "has the version 937: known are 960 (PostgreSQL 9.6)"),
        ("i386", 1300, 4, "its machine aligns to 4 bytes"),
        ("big", swapped_version, 8, "a big-endian machine wrote it"),
    ):
        (folder / name).mkdir()
        cluster(folder / name, version=version, aligned=aligned)
        files[folder / name / "16384"] = words
    for name, size, blocks in (("none", 0, 1), ("odd", 8191, 1), ("no segment", 8192, 0)):
        (folder / name).mkdir()
        cluster(folder / name, block_size=size, segment_blocks=blocks)
        files[folder / name / "16384"] = f"is damaged: it says blocks of {size} bytes, {blocks} a segment"
    control = cluster(folder)
    content = control.read_bytes()
    for name, damaged in (("zeroed", bytes(8192)), ("cut", content[:200]), ("flipped", content[:252] + b"\0" * 7940)):
        (folder / name / "global").mkdir(parents=True)
        (folder / name / "global" / "pg_control").write_bytes(damaged)
        files[folder / name / "16384"] = "is damaged: its CRC is wrong"
    control.unlink()
    for path in files:
        if path.parent.is_dir() and not path.exists():
            path.write_bytes(seal(heap_page(), 8192, 0))
    return files


@pytest.mark.parametrize("program", [main, look.main])
def test_what_is_not_known_is_refused_by_its_name(tmp_path: Path, program: Command) -> None:
    for path, words in foreign_files(tmp_path).items():
        done = CliRunner().invoke(program, [str(path)], catch_exceptions=False)
        assert (done.exit_code, words in done.output) == (2, True), done.output


@pytest.mark.parametrize("program", [main, look.main])
def test_a_disk_that_cannot_be_read(tmp_path: Path, program: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second page on."""
    path = tmp_path / "16384"
    path.write_bytes(seal(heap_page() * 3, 8192, 0))
    monkeypatch.setattr(check_pages, "CHUNK", 8192)
    monkeypatch.setattr(look, "CHUNK", 1)
    opened = Path.open

    class Bad(BytesIO):
        def readinto(self, room: Any, /) -> int:
            if self.tell() == 8192:
                raise OSError(EIO, os.strerror(EIO))
            return super().readinto(room)

        def fileno(self) -> int:
            return os.open(path, os.O_RDONLY)

    monkeypatch.setattr(
        Path, "open", lambda self, *a, **k: Bad(path.read_bytes()) if self == path else opened(self, *a, **k)
    )
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened(self, "rb").read())
    done = CliRunner().invoke(program, [str(path)], catch_exceptions=False)
    assert (done.exit_code, "after block 1: Input/output error: the disk cannot read it" in done.output) == (2, True)


def test_the_cluster_is_that_above_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the folder in which somebody stands; of a link, where it leads. What is no file is none."""
    (tmp_path / "data").mkdir()
    cluster(tmp_path / "data")
    (tmp_path / "16384").write_bytes(b"")
    (tmp_path / "data" / "16385").write_bytes(b"")
    (tmp_path / "16385").symlink_to("data/16385")
    monkeypatch.chdir(tmp_path / "data")
    assert cluster_of(Path("../16384")) is None
    found = cluster_of(tmp_path / "16385")
    assert found is not None
    assert found.path == tmp_path / "data"
    (tmp_path / "data" / "global" / "pg_control").unlink()
    os.mkfifo(tmp_path / "data" / "global" / "pg_control")
    assert cluster_of(tmp_path / "16385") is None


def test_a_pg_control_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cluster(tmp_path).read_bytes()
    parts = [whole[:100], whole[:200], whole]
    monkeypatch.setattr(relation_file, "start_of", lambda path, size: parts.pop(0) if len(parts) > 1 else whole)
    assert cluster_of(tmp_path / "16384") is not None


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages)

    def growing(*arguments: Any, **options: Any) -> Any:
        with path.open("ab") as file:
            file.write(pages[:8192])
        return verdicts(*arguments, **options)

    monkeypatch.setattr(check_pages, "check_all", growing)
    found = check_pages.read(path, None)
    assert (len(found.verdicts), found.bytes, found.sound) == (40, len(pages), True)
    assert "TRUNCATED" not in " ".join(report.end_of(found))


def test_a_segment_under_the_name_of_another(tmp_path: Path) -> None:
    """A copy loses its number easily, and then each checksum is wrong."""
    _, pages = relation(tmp_path, first=3 * 131072)
    (tmp_path / "copy").write_bytes(pages)
    status, said = checked(tmp_path / "copy")
    assert (status, "right for segment 3: give the file such a name as 16384.3." in said) == (1, True), said
    pages[100] ^= 1
    (tmp_path / "16384.3").write_bytes(pages)
    (tmp_path / "one").write_bytes(pages[8192 : 2 * 8192])
    for name in ("16384.3", "one"):
        status, said = checked(tmp_path / name)
        assert (status, "right for segment" in said) == (1, False), said


def test_a_segment_that_no_relation_has(tmp_path: Path) -> None:
    (tmp_path / "16384.99999").write_bytes(heap_page())
    status, said = checked(tmp_path / "16384.99999")
    assert (status, "a relation has at most 4,294,967,295 pages" in said) == (2, True), said
