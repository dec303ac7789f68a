# SPDX-License-Identifier: PostgreSQL
"""What the whole stack aims at, and how far that is: ratios of medians on each device. No run fails by these."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PLAIN, WHOLE = "tornpage alone, images", "all four, images"
Item = Mapping[str, Any]
SWEPT = (("transactions_a_second", "transactions a second", 0), ("commit_p99_ms", "99th percentile of a commit, ms", 1))
"""What is shown by the number of threads: the figure, its name, digits behind the point."""


class Target(NamedTuple):
    """Ours beside another configuration that protects pages in the same way."""

    device: str
    title: str
    wanted: str
    ratio: float
    least: float
    """If ours had its worst round and the other its best one."""
    most: float
    reached: bool


def compare(
    device: str, title: str, key: str, ours: Item, other: Item, least: float | None, most: float | None
) -> Target:
    """The ratio of a figure of ours to that of the other: at least, or at most, so much."""
    (low, high), (other_low, other_high) = ours["range"][key], other["range"][key]
    ratio = ours[key] / other[key]
    reached = ratio >= least if least is not None else most is not None and ratio <= most
    wanted = f"at least {least}" if least is not None else f"at most {most}"
    return Target(device, title, wanted, ratio, low / other_high, high / other_low, reached)


def of(items: Sequence[Item]) -> list[Target]:
    """The targets on each device that has both configurations. items: the figures, of one number of threads."""
    found = []
    for device in dict.fromkeys(item["device"] for item in items):
        here = {item["parts"]: item for item in items if item["device"] == device}
        if WHOLE not in here or PLAIN not in here:
            continue
        whole, plain = here[WHOLE], here[PLAIN]
        for name, item in here.items():
            if item["protection"] == whole["protection"] and name not in (WHOLE, PLAIN):
                title = f"transactions of all four, beside {name}"
                found.append(compare(device, title, "transactions_a_second", whole, item, 1.0, None))
                title = f"99th percentile of a commit of all four, beside {name}"
                found.append(compare(device, title, "commit_p99_ms", whole, item, None, 1.0))
        beside = "beside the plain stack with images"
        title = f"transactions of all four, {beside}"
        found.append(compare(device, title, "transactions_a_second", whole, plain, 2.0, None))
        title = f"99th percentile of a commit of all four, {beside}"
        found.append(compare(device, title, "commit_p99_ms", whole, plain, None, 0.5))
    return found
