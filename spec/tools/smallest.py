# SPDX-License-Identifier: PostgreSQL
"""Which runs are short.

A first look checks of each stem the smallest model that holds, and a broken one that ends soonest.
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.tools.models import Holds, Run

STEPS = 4
"""A fault that takes so many states to show says more than one in the first state. Where there is none, any will do."""
BOUNDED = "MC"
"""How the modules begin that bound a stem's model. The others follow traces, or have the orders of a few accesses."""


def smallest(runs: Sequence[Run]) -> list[Run]:
    """Of each stem one run that must hold and one that must fail, as far as it has them, in their order.

    Which they are depends on what was accepted alone: the fewest states, the shortest trace; of equals the first.
    """
    chosen: dict[tuple[str, bool], Run] = {}
    for run in runs:
        key = (run.stem, run.must_fail)
        if run.module.stem.startswith(BOUNDED) and (key not in chosen or size(run) < size(chosen[key])):
            chosen[key] = run
    return [run for run in runs if run in chosen.values()]


def up_to(runs: Sequence[Run], states: int) -> list[Run]:
    """Without the runs that must hold and have more states, by what was accepted."""
    return [run for run in runs if not isinstance(run.expected, Holds) or (run.expected.states or 0) <= states]


def size(run: Run) -> tuple[bool, bool, bool, int]:
    """How much a run takes, by what was accepted. Where liveness fails no trace has a length: those come last.

    So does a state that must be reachable: that a broken model fails says more.
    """
    expected = run.expected
    if isinstance(expected, Holds):
        return (False, False, expected.states is None, expected.states or 0)
    length = expected.trace or 0
    return (expected.trace is None, run.kind == "reach", length < STEPS, length)
