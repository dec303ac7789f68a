# SPDX-License-Identifier: PostgreSQL
"""Writes to the SSD that a cleaner joins, by the order in which slots are handed out."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise

from bench.tiercache.cleaning.caches import Taken


class Lowest(list[int]):
    """Of the free slots the one with the least number is handed out. They are sorted."""

    def take(self) -> int:
        return self.pop(0)

    def give(self, slot: int) -> None:
        insort(self, slot)


class NextFit(Lowest):
    """The next one behind the last that was handed out; behind the end it begins anew."""

    last = -1

    def take(self) -> int:
        at = bisect_left(self, self.last + 1)
        self.last = self.pop(at if at < len(self) else 0)
        return self.last


class Stack(list[int]):
    """The one that was given back last, as the cache does."""

    def take(self) -> int:
        return self.pop()

    def give(self, slot: int) -> None:
        self.append(slot)


ORDERS: dict[str, tuple[type[Stack] | type[Lowest], int]] = {
    "stack": (Stack, 0),
    "lowest": (Lowest, 0),
    "next fit": (NextFit, 0),
    "next fit, 1/16 free": (NextFit, 16),
}
"""And of how many slots one more stands beside them, so that as many are free though the SSD is full."""
GROUPS = (8, 32)


def requests(taken: Sequence[Taken | int], free: Stack | Lowest, slots: int, group: int) -> int:
    """A cleaner's writes once all slots have been full, if of so many in a row it joins those to neighbouring slots. A
    slot that is given back before its group is whole must have been written: then the group ends."""
    stands, gathered, found, full = dict[int, int](), list[int](), 0, False
    for event in taken:
        ends = False
        if isinstance(event, Taken):
            stands[event.slot] = free.take()
            if event.by_cleaner and full:
                gathered.append(stands[event.slot])
            full |= len(stands) == slots
            ends = len(gathered) == group
        else:
            given = stands.pop(event)
            ends = given in gathered
            free.give(given)
        if ends:
            found += runs(gathered)
            gathered.clear()
    return found + runs(gathered)


def runs(slots: Sequence[int]) -> int:
    """Of neighbours."""
    return sum(after != slot + 1 for slot, after in pairwise([-2, *sorted(slots)]))


def joined(taken: Sequence[Taken | int], slots: int) -> dict[str, dict[str, int]]:
    """By order and group, the requests; of groups of 1 the writes."""
    return {
        order: {str(group): requests(taken, free(range(slots + more)), slots, group) for group in (1, *GROUPS)}
        for order, (free, share) in ORDERS.items()
        for more in [slots // share if share else 0]
    }
