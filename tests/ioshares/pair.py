# SPDX-License-Identifier: PostgreSQL
"""The oracle and a kernel side by side: each call goes to both, and both must answer, refuse and know the same."""

from collections.abc import Callable
from typing import Any

from pgquern import PgquernError, ioshares

from ref import ioshares as ref
from ref.ioshares import NO_COSTS, Class, Costs, Limits, Policy, Request


def seen(scheduler: ref.Scheduler) -> ioshares.State:
    """What the oracle knows, as the kernel shows it."""
    return ioshares.State(
        scheduler.waiting,
        scheduler.in_flight,
        scheduler.limit.now,
        scheduler.limit.level,
        scheduler.limit.floor,
        scheduler.limit.completed,
        scheduler.limit.total,
        tuple(
            ioshares.ClassState(
                scheduler.lead(i), flow.served % 2**64, flow.charged % 2**64, len(flow.waiting), flow.in_flight
            )
            for i, flow in enumerate(scheduler.flows)
        ),
    )


def answer(call: Callable[..., Any], *args: Any) -> Any:
    """What the call returns, or the code and index of its refusal."""
    try:
        return call(*args)
    except (ref.Refused, PgquernError) as refusal:
        return ("refused", int(refusal.code), refusal.index)


class Pair:
    """A scheduler twice."""

    def __init__(
        self, classes: list[Class], limits: Limits, variant: str, log: int = 0, costs: Costs = NO_COSTS
    ) -> None:
        self.oracle = ref.Scheduler(classes, limits, costs)
        self.kernel = ioshares.Scheduler(
            [ioshares.Class(*c) for c in classes],
            ioshares.Limits(*limits),
            costs=ioshares.Costs(*costs),
            variant=variant,
            log=log,
        )
        self.policy = Policy(variant)

    def _both(self, wanted: Any, got: Any) -> Any:
        assert got == wanted
        assert self.kernel.state == seen(self.oracle)
        return wanted

    def submit(self, cls: int, size: int, id: int = 0, write: bool = False) -> Any:
        wanted = answer(self.oracle.submit, Request(cls, size, id, write))
        return self._both(wanted, answer(self.kernel.submit, ioshares.Request(cls, size, id, write)))

    def next(self) -> Any:
        return self._both(answer(self.oracle.next, self.policy), answer(self.kernel.next))

    def cancel(self, cls: int, id: int) -> Any:
        return self._both(answer(self.oracle.cancel, cls, id), answer(self.kernel.cancel, cls, id))

    def set_shares(self, shares: list[int]) -> Any:
        return self._both(answer(self.oracle.set_shares, shares), answer(self.kernel.set_shares, shares))

    def complete(self, cls: int, latency: int) -> Any:
        return self._both(answer(self.oracle.complete, cls, latency), answer(self.kernel.complete, cls, latency))
