# SPDX-License-Identifier: PostgreSQL
"""What a recovery is held against: the lengths of files, the arrivals of WAL, and what a recording leaves open."""

from pathlib import Path

import pytest

from ref.prefetch import Relation
from tests.prefetch.test_trace import PICTURE, check, listing_of, strace_of
from tools.trace.arrivals import Arrivals
from tools.trace.follow import DECODE_BUFFER, Recovery, Standby
from tools.trace.guesses import Guesses
from tools.trace.listing import read_listing
from tools.trace.strace import Trace

RELATION = Relation(1663, 5, 16384)
RELOAD = '1000.7 openat(AT_FDCWD</srv/data>, "postgresql.auto.conf", O_RDONLY) = 6</srv/data/postgresql.auto.conf>'


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "wal").write_text(listing_of(12))
    return tmp_path / "trace", tmp_path / "wal"


def reloaded(script: list[str], event: int) -> str:
    """A trace of a process that reads its configuration anew after so many events."""
    lines = strace_of(script).split("\n")
    return "\n".join([*lines[: 2 + event], RELOAD, *lines[2 + event :]])


def test_a_truncation_does_not_make_a_file_longer(files: tuple[Path, Path]) -> None:
    """mdtruncate lets a file alone that is shorter: a later record has cut it before the crash."""
    recovery = Recovery(read_listing(files[1]), Trace(files[0]), [3], 100, DECODE_BUFFER, Guesses())
    for before, length, after in [(3, 5, 3), (3, 2, 2), (None, 4, 0)]:
        recovery.sizes[RELATION] = before
        recovery.cut(RELATION, length)
        assert recovery.sizes[RELATION] == after


def test_a_record_has_come_when_its_last_byte_has(files: tuple[Path, Path]) -> None:
    """A flush that ends within it is none that a wait for it could have ended by."""
    listed = read_listing(files[1])[0]
    arrivals = Arrivals(0, ends=[listed.end - 1, listed.end], after=[1.0, 3.0], before=[2.0, 4.0])
    recovery = Recovery([listed], Trace(files[0]), [3], 100, DECODE_BUFFER, Guesses(), Standby(arrivals, 0))
    assert not recovery.has_come(arrivals, listed, nonblocking=True)
    assert recovery.has_come(arrivals, listed, nonblocking=False)
    assert recovery.visible == listed.end
    assert recovery.guesses.given == []


def test_a_configuration_that_is_read_anew_may_change_nothing(files: tuple[Path, Path]) -> None:
    """If no file names the concurrency: then the advises in flight still count."""
    files[0].write_text(reloaded(PICTURE, 7))
    code, said = check(files, "--concurrency", "3")
    assert code == 0
    assert "It was set to" not in said


def test_it_is_not_decided_before_all_is_tried(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    files[0].write_text(reloaded(PICTURE[:4] + PICTURE[5:], 3))
    code, said = check(files, "--concurrency", "3,1")
    assert code == 1
    assert said.startswith("does not conform.")
    monkeypatch.setattr("tools.trace.guesses.MOST", 1)
    code, said = check(files, "--concurrency", "3,1")
    assert code == 2
    assert said.startswith("not decided: ")
