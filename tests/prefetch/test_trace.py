# SPDX-License-Identifier: PostgreSQL
"""The checker of recorded recoveries: on the twelve blocks of the canonical picture, and on input that is broken."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ref.prefetch import Effect, Record, Relation
from tools.trace.check import main
from tools.trace.decode import DecodeBuffer, required_space
from tools.trace.follow import follow
from tools.trace.guesses import Guesses
from tools.trace.listing import Listed, ListingError, Replay, read_listing
from tools.trace.strace import Call, StraceError, read_strace
from tools.trace.text import LONGEST

FILE = "/srv/data/base/5/16384"
PICTURE = ["a1", "a2", "a3", *(step for k in range(1, 10) for step in (f"p{k}", f"a{k + 3}")), "p10", "p11", "p12"]


def strace_of(script: list[str]) -> str:
    """A trace as strace writes it, of advises (a1) and reads (p1) of a file of 13 blocks."""
    lines = [
        f'1000.5 openat(AT_FDCWD</srv/data>, "base/5/16384", O_RDWR) = 5<{FILE}>',
        f"1000.6 lseek(5<{FILE}>, 0, SEEK_END) = {13 * 8192}",
    ]
    for step in script:
        offset = int(step[1:]) * 8192
        if step[0] == "a":
            lines.append(f"1000.7 fadvise64(5<{FILE}>, {offset}, 8192, POSIX_FADV_WILLNEED) = 0")
        else:
            lines.append(f'1000.8 pread64(5<{FILE}>, ""..., 8192, {offset}) = 8192')
    return "\n".join([*lines, "1000.9 +++ exited with 0 +++", ""])


def line(number: int, kind: str = "Transaction", description: str = "COMMIT now") -> str:
    """A line of a listing: record `number`."""
    return (
        f"rmgr: {kind:<11} len (rec/tot):     54/    54, tx:        735, lsn: 0/{number * 64:08X}, "
        f"prev 0/{number * 64 - 64:08X}, desc: {description}"
    )


def listing_of(blocks: int) -> str:
    """A record without blocks, then one for each block, as pg_waldump lists them."""
    first = line(16, "XLOG", "CHECKPOINT_REDO wal_level replica")
    update = "HOT_UPDATE off 1 xmax 7 flags 0x00 ; new off 9 xmax 0, blkref #0: rel 1663/5/16384 blk {}"
    return "".join(
        text + "\n" for text in [first, *(line(16 + k, "Heap", update.format(k)) for k in range(1, blocks + 1))]
    )


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A trace and a listing: the canonical picture, with three I/Os allowed."""
    trace, listing = tmp_path / "trace", tmp_path / "wal"
    trace.write_text(strace_of(PICTURE))
    listing.write_text(listing_of(12))
    return trace, listing


def check(files: tuple[Path, Path], *options: str, wal: bool = True) -> tuple[int, str]:
    """Exit code and output of the command."""
    trace, listing = files
    run = CliRunner().invoke(main, ["--strace", str(trace), *(["--wal", str(listing)] if wal else []), *options])
    return run.exit_code, run.output


def test_a_timeline_is_drawn(files: tuple[Path, Path]) -> None:
    """Of what does not conform, too."""
    files[0].write_text(strace_of(PICTURE[:4] + PICTURE[5:]))
    picture = files[0].parent / "pictures" / "timeline.png"
    assert f"timeline: {picture}" in check(files, "--concurrency", "3", "--picture", str(picture))[1]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_twelve_blocks_conforms(files: tuple[Path, Path]) -> None:
    code, said = check(files, "--concurrency", "3")
    assert code == 0
    assert "conforms: 24 advises and reads are those of 13 records" in said
    assert "At most 3 of 3 advises were in flight" in said
    # The last record is read once more at the end of recovery.
    assert "prefetch 12, hit 0, skip_init 0, skip_new 0, skip_fpw 0, skip_rep 1" in said


@pytest.mark.parametrize(
    ("script", "event", "expected"),
    [
        (PICTURE[:4] + PICTURE[5:], 5, "Expected: an advise of block 4"),  # a4 is dropped
        ([*PICTURE[:6], "p3", "a5", *PICTURE[8:]], 7, "Expected: an advise of block 5"),  # moved after a read
        (["a1", "a2", "p2", "a3", "p1", *PICTURE[4:5], *PICTURE[6:]], 3, "Expected: an advise of block 3"),
        ([*PICTURE[:3], "a4", "p1", *PICTURE[5:]], 4, "Expected: a read of block 1"),  # four in flight
        (PICTURE[:-1], 23, "The trace ends after event 23. Expected: a read of block 12"),
        ([*PICTURE, "a5"], 25, "Expected: nothing more"),
        ([*PICTURE[:9], "p12", *PICTURE[9:]], 10, "Expected: a read of block 4"),
    ],
)
def test_a_tampered_picture_is_refused_at_the_event(
    files: tuple[Path, Path], script: list[str], event: int, expected: str
) -> None:
    files[0].write_text(strace_of(script))
    code, said = check(files, "--concurrency", "3")
    assert code == 1
    assert "does not conform" in said
    assert f"vent {event}" in said
    assert expected in said


@pytest.mark.parametrize("concurrency", [1, 2, 4, 10])
def test_another_concurrency_does_not_conform(files: tuple[Path, Path], concurrency: int) -> None:
    assert check(files, "--concurrency", str(concurrency))[0] == 1


def test_without_wal_only_the_bound_is_checked(files: tuple[Path, Path]) -> None:
    code, said = check(files, "--concurrency", "3", wal=False)
    assert code == 0
    assert said.startswith("bounds hold: at most 3 of 3")
    assert "conforms" not in said
    # No verdict: a record may advise a block and never read it, so a server that does right may pass the bound.
    code, said = check(files, "--concurrency", "2", wal=False)
    assert code == 2
    assert said.startswith("not decided: after event 3, line 5")
    # An advise that is missing cannot be seen.
    files[0].write_text(strace_of(PICTURE[:4] + PICTURE[5:]))
    assert check(files, "--concurrency", "3", wal=False)[0] == 0


def test_the_version_gives_the_concurrency(files: tuple[Path, Path]) -> None:
    eager = [f"a{k}" for k in range(1, 11)] + [
        s for k in range(1, 13) for s in (f"p{k}", f"a{k + 10}") if s not in ("a13", "a14")
    ]
    eager = [step for step in eager if int(step[1:]) <= 12]
    files[0].write_text(strace_of(eager))
    assert check(files)[0] == 0
    assert check(files, "--version", "17")[0] == 0
    assert check(files, "--version", "18")[0] == 1
    assert check(files, "--version", "19", "--concurrency", "10")[0] == 2
    # A server takes 0 to 1000: with more there is no verdict.
    for concurrency, status in (("1000", 1), ("1001", 2), ("3,1001", 2), ("10,", 2)):
        assert check(files, "--concurrency", concurrency)[0] == status
    code, said = check(files, "--version", "14")
    assert code == 2
    assert "14 has no recovery prefetching" in said


# ---- the decode buffer -------------------------------------------------------------------------------


def wide(number: int, block: int, length: int = 30_000) -> str:
    """A line of a listing: a record of so many bytes, which changes a block."""
    text = line(number, "Heap", f"HOT_UPDATE off 1, blkref #0: rel 1663/5/16384 blk {block}")
    return text.replace("54/    54", f"{length}/{length:6}")


def test_a_full_decode_buffer_stops_look_ahead(files: tuple[Path, Path]) -> None:
    """64 kB have room for two of these. The third finds none, and look-ahead waits until the second is replayed."""
    files[1].write_text("\n".join([line(16), *(wide(16 + 1000 * k, k) for k in range(1, 6))]) + "\n")
    text = files[1].read_text()
    for k in range(2, 6):  # each names the one before it
        text = text.replace(f"prev 0/{(16 + 1000 * k) * 64 - 64:08X}", f"prev 0/{(16 + 1000 * (k - 1)) * 64:08X}")
    files[1].write_text(text.replace(f"prev 0/{1016 * 64 - 64:08X}", f"prev 0/{16 * 64:08X}"))
    files[0].write_text(strace_of(["a1", "a2", "p1", "p2", "a3", "p3", "a4", "a5", "p4", "p5"]))
    code, said = check(files, "--concurrency", "4")
    assert code == 1
    assert "With a decode buffer of 512 kB look-ahead never stopped" in said
    assert "give --decode" in said
    assert check(files, "--concurrency", "4", "--decode", "64")[0] == 0
    assert check(files, "--concurrency", "4", "--decode", "128")[0] == 1
    files[0].write_text(strace_of(["a1", "a2", "a3", "a4", "p1", "a5", "p2", "p3", "p4", "p5"]))
    assert check(files, "--concurrency", "4")[0] == 0
    code, said = check(files, "--concurrency", "4", "--decode", "64")
    assert code == 1
    assert "With a decode buffer of 64 kB look-ahead stopped at times" in said


def listed_of(length: int, low: int, high: int) -> Listed:
    return Listed(Record(1, 2), "", (), (), length, (low, high))


def test_a_decode_buffer_wraps_and_lets_go() -> None:
    """Records of 20,000 bytes, of which each must find 22,445 bytes; they take 20,000."""
    buffer, one = DecodeBuffer(65536, Guesses()), listed_of(20_000, 20_000, 20_000)
    assert required_space(20_000) == 22_445
    assert [buffer.add(one, queued, nonblocking=True) for queued in range(4)] == [True, True, True, False]
    # Before the second, at 20,000, there is too little; before the third, at 40,000, there is enough for one.
    assert not buffer.add(one, 2, nonblocking=True)
    assert buffer.add(one, 1, nonblocking=True)
    assert not buffer.add(one, 2, nonblocking=True)
    assert buffer.add(one, 0, nonblocking=False)  # All have left: it starts at the front again.
    assert buffer.tail == (20_000, 20_000)
    assert buffer.guesses.given == []


def test_a_record_larger_than_the_decode_buffer_lies_outside() -> None:
    """It is decoded when it is waited for, and takes no room."""
    buffer, huge = DecodeBuffer(65536, Guesses()), listed_of(100_000, 100_000, 100_000)
    assert not buffer.add(huge, 0, nonblocking=True)
    assert buffer.add(huge, 0, nonblocking=False)
    assert buffer.add(listed_of(60_000, 60_000, 60_000), 1, nonblocking=True)


def test_all_answers_are_tried_once_and_no_more_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three questions, the second only after a yes."""

    def answers(guesses: Guesses) -> tuple[bool, ...]:
        first = guesses.ask()
        return (first, *([guesses.ask()] if first else []), guesses.ask())

    asked = list(Guesses.all())
    assert [guesses.given for guesses in asked] == [[]]
    told = [answers(guesses) for guesses in Guesses.all()]
    assert told == [
        (True, True, True),
        (True, True, False),
        (True, False, True),
        (True, False, False),
        (False, True),
        (False, False),
    ]
    assert not guesses_left(answers)
    monkeypatch.setattr("tools.trace.guesses.MOST", 5)
    assert guesses_left(answers)
    monkeypatch.setattr("tools.trace.guesses.MOST", 6)
    assert not guesses_left(answers)


def guesses_left(answers: Callable[[Guesses], object]) -> bool:
    for guesses in Guesses.all():
        answers(guesses)
    return bool(guesses.given)


@pytest.mark.parametrize("guess", [True, False])
def test_what_a_listing_leaves_open_is_guessed(guess: bool) -> None:
    """43,091 bytes are the most that may be taken for the next one to fit."""
    guesses = Guesses([guess])
    buffer = DecodeBuffer(65536, guesses)
    assert buffer.add(listed_of(40_000, 43_088, 43_096), 0, nonblocking=True)
    assert buffer.add(listed_of(20_000, 20_000, 20_008), 1, nonblocking=True) == guess
    assert guesses.given == [guess]


def test_the_size_of_a_decoded_record_is_bounded(tmp_path: Path) -> None:
    """A commit of 34 bytes: 24 of header, 2 of the main data's header, 8 of data. An insertion of 59, with a block."""
    path, insertion = tmp_path / "wal", "INSERT off 1 flags 0x00, blkref #0: rel 1663/5/16384 blk 3"
    commit, insert = (
        line(16).replace("54/    54", "34/    34"),
        line(17, "Heap", insertion).replace("54/    54", "59/    59"),
    )
    path.write_text(f"{commit}\n{insert}\n")
    first, second = read_listing(path)
    # XLogRecord 24, block 20, main header 2, xl_heap_insert 3, block data 10: 88 + 64 + 16 + 8
    assert first.decoded[0] <= 88 + 8 <= first.decoded[1]
    assert second.decoded[0] <= 88 + 64 + 16 + 8 <= second.decoded[1]
    for listed in (first, second):
        assert listed.decoded[1] - listed.decoded[0] <= 32
        assert listed.decoded[1] <= required_space(listed.length)


# ---- small shared_buffers ----------------------------------------------------------------------------


def test_with_few_buffers_the_trace_tells_what_was_evicted(files: tuple[Path, Path]) -> None:
    """Block 1 is repeated within the window, so it is not advised again; but it is read again."""
    update = "HOT_UPDATE off 1, blkref #0: rel 1663/5/16384 blk {}"
    updates = [line(17 + k, "Heap", update.format(block)) for k, block in enumerate([1, 2, 1])]
    files[1].write_text("\n".join([line(16), *updates]) + "\n")
    files[0].write_text(strace_of(["a1", "p1", "a2", "p2", "p1"]))
    assert check(files, "--concurrency", "1")[0] == 1
    code, said = check(files, "--concurrency", "1", "--buffers", "1")
    assert code == 0
    assert "1 of them known from the trace alone" in said
    files[0].write_text(strace_of(["a1", "p1", "a2", "p2", "a1", "p1"]))
    assert check(files, "--concurrency", "1", "--buffers", "1")[0] == 1


# ---- broken input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (strace_of(PICTURE).rsplit("\n", 2)[0], "cut off"),
        (strace_of(PICTURE)[:900], "is not a line of strace -ff"),
        (strace_of(PICTURE).replace("fadvise64(", "fadv\x00", 1), "is not a line of strace"),
        (strace_of(PICTURE).replace(f"5<{FILE}>", "5"), "record with -y"),
        (strace_of(PICTURE).replace("24576", "24577"), "of a part of a block"),
        (strace_of(PICTURE).replace("= 8192", "= -1 EIO (Input/output error)", 1), "failed"),
        (strace_of(PICTURE) * 2, "has exited before"),
        ("+++ exited with 0 +++\n", "no call on a file of a relation"),
        ("1" * 100_000 + "x\n" + strace_of(PICTURE), "is not a line of strace"),
        (strace_of(PICTURE).replace("8192, 8192, POSIX", "8192, 16384, POSIX", 1), "2 blocks from 1 on"),
        (strace_of(PICTURE).replace("8192, 8192, POSIX", "8192, 8192000000000, POSIX", 1), "no recovery does that"),
        (strace_of(PICTURE).replace("= 8192", "= 2199023255552", 1), "no recovery does that"),
        (strace_of(PICTURE).replace("98304) =", "99999999991808) =", 1), "no recovery does that"),
        (strace_of(PICTURE).replace(f"{FILE}>", f"{FILE}.{'9' * 20}>"), "no number of bytes"),
    ],
)
def test_a_broken_trace_is_refused(files: tuple[Path, Path], broken: str, complaint: str) -> None:
    files[0].write_text(broken)
    with pytest.raises(StraceError, match=complaint):
        read_strace(files[0])
    code, said = check(files, "--concurrency", "3")
    assert code == 2
    assert complaint in said


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("", "no record"),
        ("pg_waldump: error: no start WAL location given\n", "no record; pg_waldump says: .*no start WAL location"),
        ("pg_waldump: error: gone\n" + listing_of(12), "something follows what pg_waldump ended with"),
        (listing_of(12) + "\tblkref #\n" * 20, "block is garbled"),
        (listing_of(12).replace("lsn: 0/", "lsn: 0" + "0" * 5000 + "/", 1), "is not a record"),
        (listing_of(12).replace("rel 1663/", f"rel {'9' * 5000}/", 1), "block is garbled"),
        ("".join(text for text in listing_of(12).splitlines(True) if "blk 7" not in text), "records are missing"),
        (listing_of(12).replace("0/00000480", "0/00000440"), "does not start after"),
        (listing_of(12) + line(29, "Mystery", "DO, blkref #0: rel 1663/5/16384 blk 1\n"), "it is not known here"),
        (listing_of(12) + line(29, "Heap", "INSERT off 1, blkref #0: rel 1663/5/16384 fork xx blk 1\n"), "no fork"),
        (listing_of(12).replace("blk 7", "blk 4294967295"), "block is garbled"),
        (listing_of(12).replace("/    54", "/999999999999999"), "no record has 999999999999999 bytes"),
        (listing_of(12) + line(29, "Storage", "TRUNCATE base/5/16384\n"), "does not say of what"),
        (listing_of(12) + line(29, "Database", "CREATE_FILE_COPY copy dir\n"), "directory is not named"),
        (listing_of(12)[:-1], "the last line is cut off"),
    ],
)
def test_a_broken_listing_is_refused(files: tuple[Path, Path], broken: str, complaint: str) -> None:
    files[1].write_text(broken)
    with pytest.raises(ListingError, match=complaint):
        read_listing(files[1])
    assert check(files, "--concurrency", "3")[0] == 2


@pytest.mark.parametrize("which", [0, 1])
def test_a_line_without_an_end_is_not_read_whole(files: tuple[Path, Path], which: int) -> None:
    """Of a device whose every byte is zero there would be no end."""
    files[which].unlink()
    files[which].symlink_to("/dev/zero")
    code, said = check(files, "--concurrency", "3")
    assert (code, f"line 1 is longer than {LONGEST:,} characters" in said) == (2, True), said[:200]


@pytest.mark.parametrize("advice", ["SEQUENTIAL", "DONTNEED"])
def test_other_advice_is_no_prefetch(files: tuple[Path, Path], advice: str) -> None:
    """In the place of one it is an advise that is missing; beside it, nothing."""
    text = strace_of(PICTURE)
    files[0].write_text(text.replace("WILLNEED", advice, 1))
    code, said = check(files, "--concurrency", "3")
    assert (code, "Expected: an advise of block 1" in said) == (1, True), said
    (at, *_) = [line for line in text.splitlines(True) if "WILLNEED" in line]
    files[0].write_text(text.replace(at, at + at.replace("WILLNEED", advice)))
    assert check(files, "--concurrency", "3")[0] == 0
    files[0].write_text(text.replace("WILLNEED", advice))
    assert "(0 advises" in check(files, "--concurrency", "3", wal=False)[1]


@pytest.mark.parametrize(
    "last", ["pg_waldump: error: error in WAL record at 0/1: invalid record length", "/usr/bin/pg_waldump: fatal: x"]
)
def test_a_listing_may_end_with_what_pg_waldump_says(files: tuple[Path, Path], last: str) -> None:
    """`pg_waldump ... > wal 2>&1`: WAL ends where nothing more was written."""
    files[1].write_text(f"{listing_of(12)}{last}\npg_waldump: hint: none")
    assert check(files, "--concurrency", "3")[0] == 0


def test_a_file_that_grows_by_very_much_at_once_takes_no_memory(files: tuple[Path, Path]) -> None:
    """A page is initialised 32 terabytes behind the end of its file: all between is made, and would be in buffers."""
    grows = "INSERT+INIT off 1 flags 0x00, blkref #0: rel 1663/5/16384 blk 4294967000"
    then = "INSERT off 2 flags 0x00, blkref #0: rel 1663/5/16384 blk {}"
    lines = [line(17, "Heap", grows), line(18, "Heap", then.format(4294966999)), line(19, "Heap", then.format(3))]
    files[1].write_text("\n".join([line(16), *lines]) + "\n")
    files[0].write_text(strace_of(["a4294966999", "a3", "p4294966999", "p3"]))
    began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code, said = check(files, "--concurrency", "3")
    assert code in (0, 1), said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - began < 100_000


def test_a_process_may_be_stopped_for_a_while(files: tuple[Path, Path]) -> None:
    stopped = "1000.7 --- stopped by SIGSTOP ---\n1000.8 --- SIGCONT {si_signo=SIGCONT, si_code=SI_USER} ---\n"
    files[0].write_text(stopped + strace_of(PICTURE))
    assert check(files, "--concurrency", "3")[0] == 0


def test_a_relation_that_was_never_looked_at(files: tuple[Path, Path]) -> None:
    files[0].write_text(
        "\n".join(text for text in strace_of(PICTURE).splitlines() if "lseek" not in text and "openat" not in text)
    )
    code, said = check(files, "--concurrency", "3")
    assert code == 1
    assert "never looks at the length of relation 1663/5/16384" in said


def test_of_a_folder_the_startup_process_is_taken(files: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "trace.1").write_text("+++ exited with 0 +++\n")
    (folder / "trace.2").write_text(strace_of(PICTURE))
    assert read_strace(folder).path.name == "trace.2"
    label = 'openat(AT_FDCWD</srv/data>, "backup_label", O_RDONLY) = -1 ENOENT (No such file or directory)\n'
    (folder / "trace.3").write_text(label + strace_of(["p1"]))
    assert read_strace(folder).path.name == "trace.3"
    (folder / "none").mkdir()
    with pytest.raises(StraceError, match="no file"):
        read_strace(folder / "none")


# ---- what listings and paths mean ----------------------------------------------------------------------


def test_what_records_do_is_read_from_their_lines(tmp_path: Path) -> None:
    relation = "rel 1663/5/16384"
    kinds = [
        ("Heap", f"INSERT+INIT off 1, blkref #0: {relation} blk 3"),
        ("Heap", f"INSERT off 1, blkref #0: {relation} blk 3 FPW"),
        ("Heap", f"INSERT off 1, blkref #0: {relation} fork main blk 3 (FPW); hole: offset: 3, length: 5"),
        ("Heap", f"INSERT off 1, blkref #0: {relation} blk 3 FPW for WAL verification"),
        ("Heap2", f"VISIBLE x, blkref #0: {relation} fork vm blk 0, blkref #1: {relation} blk 9"),
        ("XLOG", f"FPI_FOR_HINT , blkref #0: {relation} blk 3"),
        ("Btree", f"SPLIT_L x, blkref #0: {relation} blk 3, blkref #1: {relation} blk 4"),
        ("Storage", "CREATE base/5/16390"),
        ("Storage", "CREATE base/5/16390_fsm"),
        ("Storage", "TRUNCATE base/5/16384 to 133 blocks flags 7"),
        ("Database", "CREATE_FILE_COPY copy dir 1663/1 to 1663/16400"),
        ("XLOG", "CHECKPOINT_SHUTDOWN redo 0/1"),
        ("Transaction", "COMMIT 2026-11-22 07:37:40 UTC; rels: base/5/16389 base/5/16392_vm; inval msgs: catcache 5"),
    ]  # fmt: skip
    path = tmp_path / "wal"
    path.write_text("".join(line(16 + k, *kind) + "\n" for k, kind in enumerate(kinds)))
    listed = read_listing(path)
    own = Relation(1663, 5, 16384)
    assert [record.replays for record in listed[:7]] == [
        (Replay.INIT,), (Replay.INIT,), (Replay.INIT,), (Replay.READ,), (Replay.READ, Replay.READ), (Replay.NOTHING,),
        (Replay.READ, Replay.INIT),
    ]  # fmt: skip
    assert [record.record.blocks[0].has_image for record in listed[:4]] == [False, True, True, True]
    assert listed[0].record.blocks[0].will_init
    assert [reference.fork for reference in listed[4].record.blocks] == [2, 0]
    created, fsm, truncated, copied, shutdown, commit = listed[7:]
    assert (created.record.effect, created.record.relation) == (Effect.CREATE, Relation(1663, 5, 16390))
    assert fsm.record.effect is Effect.NONE
    assert (truncated.record.effect, truncated.record.relation, truncated.record.block) == (Effect.TRUNCATE, own, 133)
    assert (copied.record.effect, copied.record.relation.database) == (Effect.CREATE_DATABASE, 16400)
    assert shutdown.record.effect is Effect.TIMELINE
    assert commit.drops == (Relation(1663, 5, 16389),)


@pytest.mark.parametrize(
    ("rmgr", "text", "initialised"),
    [
        ("Gin", "INSERT_LISTPAGE  ", [0]),
        ("Gin", "DELETE_LISTPAGE ndeleted: 2", [0, 1, 2]),
        ("Gin", "SPLIT isdata: F isleaf: T", []),
        ("Gist", "PAGE_SPLIT page_split: splits to 2 pages", [1, 2]),
        ("BRIN", "INSERT+INIT heapBlk 3 pagesPerRange 1 offnum 1", [0]),
        ("BRIN", "REVMAP_EXTEND targetBlk 2", [1]),
        ("Hash", "ADD_OVFL_PAGE bmsize 4096, bmpage_found T", [0]),
        ("SPGist", "ADD_LEAF off: 1, headoff: 0, parentoff: 1, nodeI: 0 (newpage)", [0]),
        ("SPGist", "ADD_LEAF off: 1, headoff: 0, parentoff: 1, nodeI: 0", []),
        ("SPGist", "MOVE_LEAFS nmoves: 4, parentoff: 2, nodeI: 1 (newpage)", [1]),
        ("SPGist", "SPLIT_TUPLE prefix off: 1, postfix off: 2 (same 0, new 1)", [1]),
        ("SPGist", "VACUUM_ROOT ndelete: 2", []),
    ],
)
def test_blocks_that_index_records_initialise(tmp_path: Path, rmgr: str, text: str, initialised: list[int]) -> None:
    blocks = "".join(f", blkref #{i}: rel 1663/5/16384 blk {i}" for i in range(3))
    path = tmp_path / "wal"
    path.write_text(line(16, rmgr, text + blocks) + "\n")
    (listed,) = read_listing(path)
    assert [i for i, reference in enumerate(listed.record.blocks) if reference.will_init] == initialised
    assert not listed.guessed


@pytest.mark.parametrize("text", ["PICKSPLIT ndelete: 9, ninsert: 9", "MOVE_LEAFS 4 leafs", "ADD_NODE off 3"])
def test_what_a_listing_does_not_tell_is_refused_or_guessed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wal"
    path.write_text(line(16, "SPGist", f"{text}, blkref #0: rel 1663/5/16384 blk 1") + "\n")
    with pytest.raises(ListingError, match=f"which blocks SPGist {text.split()[0]} initialises, and the line does not"):
        read_listing(path)
    (listed,) = read_listing(path, guess=True)
    assert (listed.replays, listed.guessed) == ((Replay.READ,), True)
    path.write_text(line(16, "SPGist", f"{text}, blkref #0: rel 1663/5/16384 blk 1 FPW") + "\n")
    assert read_listing(path)[0].replays == (Replay.INIT,)


def test_blocks_on_lines_of_their_own_are_read(tmp_path: Path) -> None:
    """As `pg_waldump -b` prints them."""
    path = tmp_path / "wal"
    path.write_text(
        line(16, "Heap", "INSERT off 1") + "\n\tblkref #0: rel 1663/5/16384 fork main blk 7\n\n" + line(17) + "\n"
    )
    listed = read_listing(path)
    assert [reference.block for reference in listed[0].record.blocks] == [7]
    assert len(listed) == 2


def test_a_second_file_of_a_relation_goes_on_where_the_first_ends(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(
        f"lseek(5<{FILE}>, 0, SEEK_END) = {2**30}\nlseek(6<{FILE}.1>, 0, SEEK_END) = 16384\n"
        f"fadvise64(6<{FILE}.1>, 8192, 8192, POSIX_FADV_WILLNEED) = 0\npreadv(6<{FILE}.1>, [], 2, 0) = 16384\n"
        "+++ exited with 0 +++\n"
    )
    read, own = read_strace(trace), Relation(1663, 5, 16384)
    assert read.sizes == {own: 131074}
    assert read.calls == [Call("advise", own, 131073, 3), Call("read", own, 131072, 4), Call("read", own, 131073, 4)]


def test_reads_of_one_record_come_in_any_order(files: tuple[Path, Path]) -> None:
    two = "UPDATE off 1, blkref #0: rel 1663/5/16384 blk 1, blkref #1: rel 1663/5/16384 blk 2"
    files[1].write_text(line(16) + "\n" + line(17, "Heap", two) + "\n")
    records = read_listing(files[1])
    for reads in (["p1", "p2"], ["p2", "p1"]):
        files[0].write_text(strace_of(["a1", "a2", *reads]))
        assert not follow(records, read_strace(files[0]), [10], 99).mismatch
