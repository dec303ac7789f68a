# SPDX-License-Identifier: PostgreSQL
"""Crash recoveries of real servers, recorded with strace, against the oracle.

shared_buffers holds all that is read, so the fate of each reference is known; once it does not.
"""

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.common.tally import tally
from tests.postgres.server import DEBIAN, EMBEDDED
from tools.trace.follow import follow
from tools.trace.listing import MARK, read_listing
from tools.trace.record import Recorded, change_indexes, crashed, record, why_no_strace
from tools.trace.strace import Call, Trace

BUILDS = {build.label: build for build in (DEBIAN, EMBEDDED[15], EMBEDDED[18])}
CONCURRENCIES = (0, 1, 10)
"""No look-ahead, the least, and much; FULL has more."""
UPDATES, ROWS = 100, 20_000
SMALL_BUFFERS = "512kB"
TRIES = 10
"""Of a change during a recovery, which may end before it, on a machine that is busy."""
SMALL_DECODE = 64 * 1024
"""The least wal_decode_buffer_size."""
NAMES = [f"{label} {concurrency}" for label in BUILDS for concurrency in CONCURRENCIES]
SMALL = [f"{label} small" for label in BUILDS]
FULL = [f"{label} full" for label in BUILDS]

pytestmark = [pytest.mark.servers, pytest.mark.claim3]


class Recoveries(dict[str, Recorded]):
    """A build's cluster, crashed once, and recovered with each concurrency, when the first of them is asked for."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def __missing__(self, name: str) -> Recorded:
        label = name.rpartition(" ")[0]
        with crashed(BUILDS[label], UPDATES, ROWS) as crash:
            for concurrency in CONCURRENCIES:
                self[f"{label} {concurrency}"] = record(crash, [concurrency], self.top / f"{label}-{concurrency}")
            self[f"{label} small"] = record(crash, [10], self.top / f"{label}-small", SMALL_BUFFERS)
            self[f"{label} full"] = record(crash, [32], self.top / f"{label}-full", decode=SMALL_DECODE)
        return self[name]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recoveries:
    if reason := why_no_strace():
        pytest.skip(reason)
    return Recoveries(tmp_path_factory.mktemp("recovery"))


@pytest.mark.parametrize("name", [*NAMES, *SMALL, *FULL])
def test_a_recovery_conforms(recorded: dict[str, Recorded], name: str) -> None:
    run = recorded[name]
    followed = run.followed()
    assert followed.mismatch == ""
    assert followed.counters == run.counters
    assert followed.peak <= run.concurrencies[0]
    assert len(followed.steps) == len(run.calls().calls) > 150
    tally("prefetch", "advises and reads of real servers explained", len(followed.steps))


@pytest.mark.parametrize("name", NAMES)
def test_the_window_fills(recorded: dict[str, Recorded], name: str) -> None:
    run = recorded[name]
    followed = run.followed()
    assert followed.peak == run.concurrencies[0]
    assert followed.told == 0
    if run.concurrencies[0]:
        assert all(count > 0 for count in run.counters.values()), "the recovery has every sort of reference"


@pytest.mark.parametrize("name", [*NAMES, *SMALL])
def test_the_last_record_advises_and_reads_its_block(recorded: dict[str, Recorded], name: str) -> None:
    """Only the background writer may add a record, of the running transactions, when it likes."""
    run = recorded[name]
    last = [listed for listed in run.records() if listed.kind != "Standby RUNNING_XACTS"][-1]
    (reference,) = last.record.blocks
    calls = [call for call in run.calls().calls if (call.relation, call.block) == reference[:2]]
    assert [call.what for call in calls] == ["advise", "read"][0 if run.concurrencies[0] else 1 :]
    assert calls[-1] == run.calls().calls[-1]


@pytest.mark.parametrize("name", SMALL)
def test_with_few_buffers_pages_come_back(recorded: dict[str, Recorded], name: str) -> None:
    assert recorded[name].followed().told > 20


@pytest.mark.parametrize("name", FULL)
def test_with_a_small_decode_buffer_look_ahead_stops(recorded: dict[str, Recorded], name: str) -> None:
    """Records of 8 kB fill it; the default, under which the same recovery would look further ahead, does not fit."""
    run = recorded[name]
    assert run.followed().full
    by_default = follow(run.records(), run.calls(), run.concurrencies, run.buffers)
    assert "Expected: an advise" in by_default.mismatch
    assert not by_default.full


@pytest.mark.parametrize(
    ("label", "changes"),
    [(DEBIAN.label, (10, 0, 5)), *(pytest.param("18", each, marks=pytest.mark.whole) for each in ((3, 20), (2, 2)))],
    ids=str,
)
def test_a_recovery_whose_concurrency_changes_conforms(tmp_path: Path, label: str, changes: tuple[int, ...]) -> None:
    """Each value from its place on; with the same values elsewhere, or never, the trace does not conform."""
    if reason := why_no_strace():
        pytest.skip(reason)
    with crashed(BUILDS[label], UPDATES, ROWS) as crash:
        for number in range(TRIES):
            run = record(crash, changes, tmp_path / f"recovery {number}")
            if len(run.followed().changes) == len(changes) - 1:
                break
    followed, trace = run.followed(), run.calls()
    assert followed.mismatch == ""
    assert followed.undecided or followed.counters == run.counters  # undecided: it may have changed at too many places
    assert [to for _, to in followed.changes] == list(changes[1:])
    others = [changes[:1], (*changes[:-1], changes[-1] + 1)]
    others += [tuple(reversed(changes))] if changes != changes[::-1] else []
    for other in others if changes != (2, 2) else others[1:]:
        assert follow(run.records(), trace, other, run.buffers).mismatch, other
    early = replace(trace, reloads=[max(at - 40, 0) for at in trace.reloads])
    assert follow(run.records(), early, run.concurrencies, run.buffers).mismatch
    never = replace(trace, reloads=[])
    assert follow(run.records(), never, run.concurrencies, run.buffers).mismatch
    tally("prefetch", "advises and reads of real servers explained", len(followed.steps))


INDEXED = {"Gin", "Gist", "SPGist", "Hash", "BRIN"}


@pytest.mark.parametrize(
    "label", [pytest.param(label, marks=[pytest.mark.whole] * (label == "18")) for label in BUILDS]
)
def test_a_recovery_of_other_access_methods_conforms(tmp_path: Path, label: str) -> None:
    """Which blocks their records initialise is known: nothing is advised for these, and nothing is read."""
    if reason := why_no_strace():
        pytest.skip(reason)
    with crashed(BUILDS[label], UPDATES, ROWS, change_indexes) as crash:
        run = record(crash, [10], tmp_path / "recovery")
    followed = run.followed()
    assert followed.mismatch == ""
    assert followed.counters == run.counters
    kinds = {listed.kind.split()[0] for listed in run.records()}
    assert kinds >= INDEXED
    initialised = {
        listed.kind.split()[0]
        for listed in run.records()
        if any(reference.will_init for reference in listed.record.blocks)
    }
    assert initialised >= INDEXED
    assert "SPGist PICKSPLIT" in {listed.kind for listed in run.records()}
    unmarked = tmp_path / "unmarked"
    unmarked.write_text(re.sub(f"{MARK}.*", "", run.listing.read_text()))
    for marked, told in zip(run.records(), read_listing(unmarked, guess=True), strict=True):
        assert told.guessed or marked.record == told.record, "the WAL says what the table of kinds says"
    tally("prefetch", "advises and reads of real servers explained", len(followed.steps))


# ---- tampered traces ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tampered:
    """Calls that are not the server's, and the first event that is wrong."""

    calls: list[Call]
    wrong: int


def dropped(calls: list[Call], rng: random.Random) -> Tampered:
    """An advise is missing, and the next call is not the same."""
    at = rng.choice(
        [
            i
            for i, call in enumerate(calls)
            if call.what == "advise" and (i + 1 == len(calls) or replace(calls[i + 1], line=call.line) != call)
        ]
    )
    return Tampered(calls[:at] + calls[at + 1 :], at + 1)


def after_its_read(calls: list[Call], rng: random.Random) -> Tampered:
    """An advise comes after the read of its block."""
    pairs = [
        (i, next(j for j in range(i, len(calls)) if calls[j] == replace(call, what="read", line=calls[j].line)))
        for i, call in enumerate(calls)
        if call.what == "advise"
        and any((c.what, c.relation, c.block) == ("read", call.relation, call.block) for c in calls[i:])
    ]
    at, read = rng.choice(pairs)
    return Tampered([*calls[:at], *calls[at + 1 : read + 1], calls[at], *calls[read + 1 :]], at + 1)


def one_too_many(calls: list[Call], rng: random.Random) -> Tampered:
    """An advise comes before the read that makes room for it."""
    at = rng.choice([i for i in range(1, len(calls)) if calls[i].what == "advise" and calls[i - 1].what == "read"])
    return Tampered([*calls[: at - 1], calls[at], calls[at - 1], *calls[at + 1 :]], at)


@pytest.mark.parametrize("tamper", [dropped, after_its_read, one_too_many])
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(" 0")])
def test_a_tampered_recovery_is_refused_at_the_event(recorded: dict[str, Recorded], name: str, tamper: object) -> None:
    run, rng = recorded[name], random.Random(name)
    records, trace = run.records(), run.calls()
    assert callable(tamper)
    for _ in range(3):
        tampered: Tampered = tamper(trace.calls, rng)
        followed = follow(records, Trace(trace.path, tampered.calls, dict(trace.sizes)), run.concurrencies, run.buffers)
        assert followed.mismatch
        assert followed.wrong == tampered.wrong
        assert "Expected: " in followed.mismatch


@pytest.mark.parametrize("label", BUILDS)
def test_another_concurrency_is_refused(recorded: dict[str, Recorded], label: str) -> None:
    for concurrency in CONCURRENCIES:
        run = recorded[f"{label} {concurrency}"]
        other = concurrency + 1
        assert follow(run.records(), run.calls(), [other], run.buffers).mismatch


@pytest.mark.parametrize("label", BUILDS)
def test_a_record_that_is_not_listed_is_missed(recorded: dict[str, Recorded], label: str, tmp_path: Path) -> None:
    """One that reads a cold block, at the start or the end of the listing, where no gap shows."""
    run = recorded[f"{label} 1"]
    records = list(run.records())
    blocks = [i for i, listed in enumerate(records) if listed.record.blocks]
    assert follow(records[blocks[0] + 1 :], run.calls(), [1], run.buffers).mismatch
    assert follow(records[: blocks[len(blocks) // 2]], run.calls(), [1], run.buffers).mismatch
