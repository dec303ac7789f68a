# SPDX-License-Identifier: PostgreSQL
"""The tables at the end of a job: what each layer found for each stem, and where the time went."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from tools.common.progress import console
from tools.common.results import Result

REASON = 300
"""Characters of a reason: many failures must fit on a screen, and the step has printed each whole."""
COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def show(job: str, found: Sequence[Result]) -> None:
    """A line for each layer and stem, then what was skipped and why."""
    table = Table(title=f"pgquern: summary of `{job}`", title_justify="left")
    for head in ("layer", "stem", "", "what"):
        table.add_column(head)
    table.add_column("s", justify="right")
    for result in found:
        status = f"[{COLOURS[result.status]}]{result.status}[/]"
        table.add_row(result.label, result.stem, status, escape(result.says), f"{result.seconds:.0f}")
    console().print(table)
    for reason, names in reasons(found).items():
        console().print(f"[yellow]SKIPPED[/] {len(names)}: {escape(reason)} (first: {escape(names[0])})")


def reasons(found: Sequence[Result]) -> dict[str, list[str]]:
    """Why items were skipped, and which."""
    grouped: dict[str, list[str]] = {}
    for result in found:
        for item in result.items:
            if item.status == "skipped":
                grouped.setdefault(item.reason or "no reason given", []).append(item.name)
    return grouped


def by_row(found: Sequence[Result]) -> dict[str, float]:
    """Seconds of each stem, over all layers."""
    rows: dict[str, float] = {}
    for result in found:
        rows[result.stem] = rows.get(result.stem, 0.0) + result.seconds
    return dict(sorted(rows.items()))


def costs(found: Sequence[Result], steps: Sequence[tuple[str, float]]) -> None:
    """Where the time went: layers by stems as the layers measured it, then the steps by the clock."""
    rows = by_row(found)
    table = Table(title="seconds by layer and stem", title_justify="left", padding=0)
    for head in ("layer", *rows):
        table.add_column(head, justify="left" if head == "layer" else "right", no_wrap=head == "layer")
    for layer in dict.fromkeys(result.label for result in found):
        cells = {result.stem: f"{result.seconds:.0f}" for result in found if result.label == layer}
        table.add_row(layer, *(cells.get(stem, "") for stem in rows))
    table.add_row("all", *(f"{seconds:.0f}" for seconds in rows.values()))
    console().print(table)
    console().print(", ".join(f"{command} {seconds:.0f} s" for command, seconds in steps))
    console().print(f"{sum(seconds for _, seconds in steps):.0f} s in all")


def closing(found: Sequence[Result], failed: Sequence[str], unneeded: int) -> None:
    """What failed, a line each, and the command to repeat it; then the counts of all items, alone on the last line."""
    for result in found:
        for item in result.items:
            if item.status == "failed":
                reason = item.reason.strip().partition("\n")[0][:REASON]
                console().print(f"[red]failed[/] {result.label} {result.stem}: {escape(f'{item.name}: {reason}')}")
    for command in failed:
        console().print(f"[red]failed[/] `{command}`: run it again to see only its output")
    counts = {status: sum(result.count(status) for result in found) for status in ("passed", "failed", "skipped")}
    # A step can fail without a failed item: a tool is missing, or a build broke.
    lost = max(counts["failed"], len(failed)) + unneeded
    console().print(f"{counts['passed']} passed, {lost} failed, {counts['skipped']} skipped")
