# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable

from pgquern.ioshares import Class, Costs, Limits, Request, Scheduler, variants

from tests.common.entry_points import Call


def scheduler(submitted: bool = False, dispatched: bool = False) -> Scheduler:
    found = Scheduler([Class(2), Class(1)], Limits(), log=4)
    if submitted:
        found.submit(Request(1, 8192, 7))
    if dispatched:
        found.next()
    return found


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "Scheduler": lambda: Call(
        Scheduler, ([Class(2), Class(1)], Limits()), {"costs": Costs(1, 2), "log": 4, "variant": None}
    ),
    "Scheduler.submit": lambda: Call(scheduler().submit, (Request(0, 8192, 7),)),
    "Scheduler.next": lambda: Call(scheduler(True).next),
    "Scheduler.cancel": lambda: Call(scheduler(True).cancel, (1, 7)),
    "Scheduler.set_shares": lambda: Call(scheduler(True).set_shares, ([3, 4],)),
    "Scheduler.complete": lambda: Call(scheduler(True, True).complete, (1, 100)),
}
