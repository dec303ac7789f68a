# SPDX-License-Identifier: PostgreSQL
"""Logs of the C lock with threads: the oracle accepts them, and the recordings that the model follows are such logs."""

import pytest

from ref import rangelock as ref
from tests.common.tally import tally
from tests.rangelock.logs import as_oracle
from tests.rangelock.tracing import TRACES, record_alone, record_threads, steps
from tools.common.recordings import SUFFIX, load


@pytest.mark.parametrize("threads", [2, 8, 16])
def test_what_threads_do_is_right(threads: int) -> None:
    events = record_threads(threads, threads, 400 // threads)
    assert list(ref.judge(as_oracle(events))) == []
    assert sum(e.what == "grant" for e in events) == sum(e.what == "release" for e in events) > 0
    tally("rangelock", "events of threads judged by the oracle", len(events))


def test_a_log_without_one_of_its_grants_is_wrong() -> None:
    events = as_oracle(record_alone(2, 100))
    assert list(ref.judge(events)) == []
    for at, event in enumerate(events):
        if event.what is ref.What.GRANT:
            assert list(ref.judge(events[:at] + events[at + 1 :])) != []


def test_recordings_are_of_this_form() -> None:
    """The traces that the model follows have the fields of a log, and grants of several at once."""
    fields = set(steps(record_alone(1, 10))[0])
    for name in ("alone", "threads"):
        head, *lines = load(TRACES / f"{name}{SUFFIX}")
        assert head == {"lock": "csrc/rangelock/interval.c"}
        assert all(set(line) == fields for line in lines)
        assert any(len(line["granted"]) > 1 for line in lines)
