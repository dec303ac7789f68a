# SPDX-License-Identifier: PostgreSQL
"""The decode buffer of a WAL reader (wal_decode_buffer_size), as far as a listing can tell what is in it.

Upstream: XLogReadRecordAlloc and XLogReleasePreviousRecord (xlogreader.c). Records lie one after the other, and start
again at the front where the end has no room for what a record of its length might need at most. A listing gives bounds
for what each has taken, so where a record fits by one bound and not by the other, a guess decides.
"""

from collections import deque

from tools.trace.guesses import Guesses
from tools.trace.listing import DECODED_BLOCK, DECODED_FIXED, Listed

BLOCK_IDS = 33
Bounds = tuple[int, int]


def required_space(length: int) -> int:
    """DecodeXLogRecordRequiredSpace: for a record with as many blocks as there can be, each piece of data padded."""
    return DECODED_FIXED + BLOCK_IDS * DECODED_BLOCK + length + 7 * (1 + BLOCK_IDS + 1)


class DecodeBuffer:
    """guesses: where the bounds leave open whether a record fits."""

    def __init__(self, size: int, guesses: Guesses) -> None:
        self.size, self.guesses = size, guesses
        self.starts: deque[tuple[Bounds, int] | None] = deque()
        """Of the records that are queued: where each starts, and in which lap; None: outside of the buffer."""
        self.tail: Bounds = (0, 0)
        self.lap = 0
        self.fullest = False
        """Whether a record has found no room."""

    def add(self, listed: Listed, queued: int, *, nonblocking: bool) -> bool:
        """Decode a record while so many are queued. False: there is no room, and the caller would not wait."""
        while len(self.starts) > queued:
            self.starts.popleft()
        inside = [start for start in self.starts if start]
        if not inside:
            self.tail = (0, 0)
        place = self._place(required_space(listed.length), inside[0] if inside else ((0, 0), self.lap))
        if place is None:
            self.fullest |= nonblocking
            if not nonblocking:
                self.starts.append(None)
            return not nonblocking
        self.starts.append((place, self.lap))
        low, high = listed.decoded
        self.tail = (place[0] + low, place[1] + high)
        return True

    def _place(self, needed: int, head: tuple[Bounds, int]) -> Bounds | None:
        (first, last), lap = head
        low, high = self.tail
        if lap < self.lap:  # The tail is left of the head.
            return self.tail if self._is(needed < first - high, needed < last - low) else None
        if self._is(needed <= self.size - high, needed <= self.size - low):
            return self.tail
        if self._is(needed < first, needed < last):
            self.lap += 1
            return (0, 0)
        return None

    def _is(self, surely: bool, maybe: bool) -> bool:
        return surely if surely == maybe else self.guesses.ask()
