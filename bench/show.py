# SPDX-License-Identifier: PostgreSQL
"""Tables of what `bench.run` measured, for the terminal."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from bench import goals
from bench.goals import Config, Goals, Roles, Standing, Times


def _cells(config: Config, times: Times, who: Roles, ours: Sequence[str], intervals: bool) -> list[str]:
    """One line of configs()."""
    upstream = who.faster_upstream(times)
    found = [*config.values(), upstream, f"{np.median(times[upstream]):,.0f}"]
    for variant in ours:
        ratio = goals.paired_ratio(times[upstream], times[variant]) if variant in times else None
        found.append("" if ratio is None else str(ratio) if intervals else f"{ratio.median:.2f}")
    if who.again:
        first, second = who.again
        found.append(f"{goals.paired_ratio(times[first], times[second]).median:.2f}" if second in times else "")
    if who.limit:
        best = min((v for v in ours if v in times), key=lambda v: float(np.median(times[v])))
        near = goals.paired_ratio(times[best], times[who.limit]) if who.limit in times else None
        found.append(f"{near.median:.2f}" if near else "")
    return found


def _covers(rows: Sequence[tuple[Config, Times]], ours: Sequence[str]) -> str:
    """What the intervals of these rows cover, as in " [95 %]"; "" if no row has one."""
    found = {goals.paired_ratio(times[v], times[v]).coverage for _, times in rows for v in ours if v in times}
    named = " or ".join(f"{100 * coverage:.0f} %" for coverage in sorted(found) if coverage)
    return f" [{named} confidence interval]" if named else ""


def configs(console: Console, measured: Sequence[tuple[Config, Times]], table: Goals, intervals: bool) -> None:
    """A line a configuration: upstream's faster variant and its time, then how many times as fast each of ours is."""
    families: dict[tuple[str, ...], list[tuple[Config, Times]]] = {}
    for config, times in measured:
        families.setdefault((*config, *table.roles_of(config).ours), []).append((config, times))
    for rows in families.values():
        who = table.roles_of(rows[0][0])
        ours = [v for v in who.ours if any(v in times for _, times in rows)]
        covers = _covers(rows, ours) if intervals else ""
        shown = Table(
            title=f"median ns of the faster upstream variant; ours, times as fast{covers}", title_justify="left"
        )
        for key in rows[0][0]:
            shown.add_column(key)
        for head in ("upstream", "ns", *ours, *(["A/A"] if who.again else []), *(["best/limit"] if who.limit else [])):
            shown.add_column(head, justify="right")
        for config, times in rows:
            shown.add_row(*_cells(config, times, who, ours, intervals))
        console.print(shown)


def standings(console: Console, title: str, found: Sequence[Standing], counted: str) -> None:
    """A line for each floor or target and variant: its bound, its worst configuration, how much of it is reached."""
    table = Table(title=title, title_justify="left")
    for head in ("what", "variant", "bound", "worst", "where", "reached", counted):
        table.add_column(head)
    for standing in found:
        s, worst = standing.as_dict(), standing.worst
        bound = s["bound"] + (f"; here {worst.bound:.2f}, the bare moves" if worst.bare else "")
        where = " ".join(f"{k}={v}" for k, v in s["worst_config"].items())
        counts = f"{s['breaks' if counted == 'broken in' else 'holds']} of {s['of']}"
        table.add_row(s["title"], s["variant"], bound, str(worst.ratio), where, f"{100 * worst.reached:.0f} %", counts)
    console.print(table)
