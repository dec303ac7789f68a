# SPDX-License-Identifier: PostgreSQL
"""A timeline of a trace: a bar from each advise to the read of its block, and how many are open at each event."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tools.common import picture
from tools.trace.strace import Call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 80
"""Events in a picture: more bars cannot be told apart."""


@dataclass(frozen=True)
class Bar:
    """A block from its advise (event `begin`, or None) to its read (event `end`, or None)."""

    block: int
    begin: int | None
    end: int | None


def bars(calls: Sequence[Call]) -> list[Bar]:
    """In the order of advises; a read without an advise stands where it comes. Events are counted from 1."""
    found: list[Bar] = []
    open_at: dict[tuple[object, int], int] = {}
    for event, call in enumerate(calls, 1):
        page = (call.relation, call.block)
        if call.what == "advise":
            open_at[page] = len(found)
            found.append(Bar(call.block, event, None))
        elif page in open_at:
            at = open_at.pop(page)
            found[at] = Bar(call.block, found[at].begin, event)
        else:
            found.append(Bar(call.block, None, event))
    return found


def depths(calls: Sequence[Call]) -> list[int]:
    """After each event: how many advised blocks have not been read."""
    unread: set[tuple[object, int]] = set()
    depth = []
    for call in calls:
        page = (call.relation, call.block)
        if call.what == "advise":
            unread.add(page)
        else:
            unread.discard(page)
        depth.append(len(unread))
    return depth


def draw(calls: Sequence[Call], concurrency: int, wrong: int | None, path: Path) -> str | None:
    """Write the picture: the events up to number `wrong`, which is marked, or the first ones."""
    return picture.save(path, lambda file: _drawn(calls, concurrency, wrong, path.suffix[1:], file))


def _drawn(calls: Sequence[Call], concurrency: int, wrong: int | None, kind: str, file: BinaryIO) -> None:
    pyplot = picture.pyplot()
    last = min(len(calls), wrong + 2 if wrong else SHOWN)
    first = max(1, last - SHOWN + 1)
    shown = [b for b in bars(calls[:last]) if (b.end or last + 1) >= first]
    figure, (upper, lower) = pyplot.subplots(
        2,
        1,
        sharex=True,
        figsize=(11, 3.5 + 0.14 * len(shown)),
        height_ratios=[max(2, len(shown) / 8), 1],
        layout="constrained",
    )
    _draw_bars(upper, shown, first, last)
    lower.step(range(1, last + 1), depths(calls[:last]), where="post", color="tab:blue")
    lower.axhline(concurrency, color="tab:green", linestyle=":", label=f"concurrency {concurrency}")
    lower.set(ylabel="advised,\nunread", xlabel="event", xlim=(first - 1, last + 1))
    lower.legend(loc="lower right", fontsize=8)
    if wrong:
        for axes in (upper, lower):
            axes.axvline(wrong, color="tab:red", linestyle="--")
        upper.set_title(f"Event {wrong} is the first that is not explained", color="tab:red")
    else:
        upper.set_title(f"Events {first} to {last} of {len(calls)}: from each advise to its read")
    figure.savefig(file, format=kind, dpi=110)
    pyplot.close(figure)


def _draw_bars(axes: "Axes", shown: Sequence[Bar], first: int, last: int) -> None:
    for row, bar in enumerate(shown):
        if bar.begin is None:
            axes.plot([bar.end or last], [row], "o", color="tab:orange", markersize=4)
        else:
            begin, end = max(bar.begin, first - 1), bar.end or last + 1
            axes.barh(row, end - begin, left=begin, height=0.7, color="tab:blue" if bar.end else "tab:gray")
        axes.text(last + 1.2, row, str(bar.block), fontsize=6, va="center")
    axes.invert_yaxis()
    axes.set(yticks=[], ylabel="blocks, as advised")
