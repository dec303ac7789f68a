# SPDX-License-Identifier: PostgreSQL
"""The recordings that the model follows are logs of the C lock."""

from tests.rangelock.tracing import TRACES, record_alone, steps
from tools.common.recordings import SUFFIX, load


def test_recordings_are_of_this_form() -> None:
    """The traces that the model follows have the fields of a log, and grants of several at once."""
    fields = set(steps(record_alone(1, 10))[0])
    for name in ("alone", "threads"):
        head, *lines = load(TRACES / f"{name}{SUFFIX}")
        assert head == {"lock": "csrc/rangelock/interval.c"}
        assert all(set(line) == fields for line in lines)
        assert any(len(line["granted"]) > 1 for line in lines)
