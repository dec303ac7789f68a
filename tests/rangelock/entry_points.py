# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable
from typing import Any

from _pgquern import ffi
from pgquern.rangelock import Hold, RangeLock, checked, variants

from tests.common.entry_points import Call

NOT_SHARED = {"Hold"}


class Closing(RangeLock):
    """A lock that nobody else uses: it ends with its last reference, whatever is held."""

    def __del__(self) -> None:
        for hold in list(getattr(self, "_kept", ())):
            try:
                self.unlock(hold)
            except ValueError:
                self.cancel(hold)
        if getattr(self, "c", None):
            self.close()


def on(method: str, *args: Any, held: bool = False, waits: bool = False, **named: Any) -> Call:
    """A call with a hold: idle, held, or one that waits for another."""
    lock, hold, other = Closing(), Hold(), Hold()
    if held:
        lock.lock(hold, 0, 8, exclusive=True)
    if waits:
        lock.lock(other, 0, 8, exclusive=True)
        lock.request(hold, 0, 8, exclusive=True)
    return Call(getattr(lock, method), (hold, *args), named)


def ranged() -> Call:
    lock = Closing()

    def held(offset: int, length: int, exclusive: bool) -> None:
        with lock.range(offset, length, exclusive=exclusive):
            pass

    return Call(held, (0, 8, True))


def logged() -> Call:
    lock = Closing()
    lock.log(4)
    return Call(lock.events)


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "checked": lambda: Call(checked, (ffi.new("pgq_status *")[0],)),
    "Hold": lambda: Call(Hold),
    "RangeLock": lambda: Call(Closing, (), {"variant": "interval", "fd": -1}),
    "RangeLock.lock": lambda: on("lock", 0, 8, exclusive=True, seconds=1),
    "RangeLock.try_lock": lambda: on("try_lock", 0, 8, exclusive=True),
    "RangeLock.unlock": lambda: on("unlock", held=True),
    "RangeLock.request": lambda: on("request", 0, 8, exclusive=True),
    "RangeLock.wait": lambda: on("wait", 1, held=True),
    "RangeLock.cancel": lambda: on("cancel", waits=True),
    "RangeLock.is_held": lambda: on("is_held"),
    "RangeLock.range": ranged,
    "RangeLock.log": lambda: Call(Closing().log, (4,)),
    "RangeLock.events": logged,
    "RangeLock.close": lambda: Call(RangeLock().close),
}
