# SPDX-License-Identifier: PostgreSQL
"""Logs of the C lock in the oracle's terms."""

from collections.abc import Sequence

from pgquern.rangelock import Event

from ref import rangelock as ref


def as_oracle(events: Sequence[Event]) -> list[ref.Event]:
    return [ref.Event(ref.What(e.what), ref.Request(e.ticket, e.lo, e.hi, e.exclusive)) for e in events]
