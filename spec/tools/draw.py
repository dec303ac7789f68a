# SPDX-License-Identifier: PostgreSQL
"""Draws a counterexample as a sequence diagram: a page of HTML that fits any window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from spec.tools.counterexample import Picture
from spec.tools.values import Change

COLOURS = 8
"""So many actors have a colour of their own; then they begin again."""
LETTER = 0.6
"""The width of a letter in a head, in rem, at most."""


@dataclass
class Row:
    """A line of the picture: one step, or some small ones of one actor in a row."""

    numbers: tuple[int, int]
    who: str
    whom: str
    text: str
    small: bool
    changes: list[Change] = field(default_factory=list)

    @property
    def number(self) -> str:
        first, last = self.numbers
        return str(first) if first == last else f"{first}–{last}"


def rows(picture: Picture) -> list[Row]:
    """The lines of the picture. A loop begins with a line of its own."""
    found: list[Row] = []
    for step in picture.steps:
        begins_loop = picture.back_to is not None and step.number == picture.back_to + 1
        if step.small and found and found[-1].small and found[-1].who == step.who and not begins_loop:
            row = found[-1]
            row.numbers = (row.numbers[0], step.number)
            row.text += "; " + step.text
            row.whom = row.whom or step.whom
            row.changes = merged([*row.changes, *step.changes])
        else:
            row = Row((step.number, step.number), step.who, step.whom, step.text, step.small, list(step.changes))
            found.append(row)
    for row in found:
        row.text = sentence(row.text)
    return found


def merged(changes: Sequence[Change]) -> list[Change]:
    """Of changes of the same thing one: from before the first to after the last."""
    found: dict[str, Change] = {}
    for change in changes:
        found[change.name] = Change(change.name, found.get(change.name, change).old, change.new)
    return [change for change in found.values() if change.old != change.new]


def sentence(text: str) -> str:
    """With a capital, unless it begins with a name, and a full stop."""
    first = text.split(" ")[0]
    if first.islower() and first.strip(",;:").isalpha():
        text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def lanes(picture: Picture) -> list[str]:
    """Who acts, and on whom, in the order of their first steps. Who acts stands before who does not."""
    acting = [step.who for step in picture.steps] or ["model"]
    return list(dict.fromkeys([*acting, *(step.whom for step in picture.steps if step.whom)]))


def compact(change: Change) -> str:
    """A change in a line."""
    if change.old is None:
        return f"{change.name}: + {change.new or ''}"
    if change.new is None:
        return f"{change.name}: − {change.old}"
    return f"{change.name}: {change.old} → {change.new}"


def end(picture: Picture) -> str:
    """How an endless counterexample goes on."""
    if picture.back_to is not None:
        after = f"after step {picture.back_to}" if picture.back_to else "at the start"
        return f"Now all is as it was {after}. The steps from {picture.back_to + 1} on can follow again, for ever."
    return "From here on nothing happens any more." if picture.stutters else ""


def heading(picture: Picture) -> str:
    """The first line of the last box."""
    if picture.reached:
        return f"✓ Reached here: {picture.property}"
    return f"✗ Broken {'for ever' if end(picture) else 'here'}: {picture.property}"


def verdict(picture: Picture) -> list[str]:
    """What is broken: what the property says, then what is wrong. Of a run that must reach something: that it has."""
    if picture.reached:
        return [
            "The run looks for this, to show that it is possible, and has found it.",
            *map(sentence, picture.broken),
        ]
    return [f"The rule: {sentence(picture.rule)}", *map(sentence, picture.broken)]


def html(picture: Picture) -> str:
    """One page with nothing beside it."""
    names = lanes(picture)
    widest = LETTER * max(len(word) for name in names for word in name.split())
    return (
        environment()
        .get_template("show.html")
        .render(
            picture=picture,
            names=names,
            lane=max(widest + 0.4, min(7.4, 32 / len(names))),
            rows=rows(picture),
            end=end(picture),
            verdict=verdict(picture),
        )
    )


def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals.update(colours=COLOURS, compact=compact, heading=heading)
    found.filters["sentence"] = sentence
    return found
