# SPDX-License-Identifier: PostgreSQL
"""Draws a counterexample as a sequence diagram: as SVG, and as a page of HTML that fits any window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from spec.tools.counterexample import Picture
from spec.tools.values import Change

WIDTH, MARGIN, GAP = 1000, 20, 24
LANE_LEAST, LANE_MOST, LANES_ALL, TEXT_LEAST = 74, 118, 400, 420
LINE, SMALL_LINE, PADDING = 20, 17, 9
NARROW, WIDE = set("ijltfrI.,:;'|!()[]{}\"- /"), set("mwMWGOQ@%→")
COLOURS = 8
"""So many actors have a colour of their own; then they begin again."""
LONGEST = 90
"""Letters of a value in the SVG; the page has it whole."""


@dataclass
class Row:
    """A line of the picture: one step, or some small ones of one actor in a row."""

    numbers: tuple[int, int]
    who: str
    whom: str
    text: str
    small: bool
    changes: list[Change] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The sentence, wrapped for the SVG."""
    changed: list[str] = field(default_factory=list)
    """The changes, wrapped for the SVG."""
    top: int = 0
    height: int = 0

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


def compact(change: Change, longest: int = 10**6) -> str:
    """A change in a line."""

    def short(text: str) -> str:
        return text if len(text) <= longest else text[: longest - 1] + "…"

    if change.old is None:
        return f"{change.name}: + {short(change.new or '')}"
    if change.new is None:
        return f"{change.name}: − {short(change.old)}"
    return f"{change.name}: {short(change.old)} → {short(change.new)}"


def width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """The width of a text, at most: in DejaVu Sans, than which fonts for screens are hardly wider."""
    if mono:
        return 0.61 * size * len(text)
    return sum(map(letter_width, text)) * size * (1.1 if bold else 1.0)


def letter_width(letter: str) -> float:
    """In units of the font's size."""
    if letter in NARROW:
        return 0.41
    return 1.0 if letter in WIDE else 0.72 if letter.isupper() else 0.64


def wrap(text: str, room: float, size: float, *, mono: bool = False, bold: bool = False) -> list[str]:
    """The text in lines that fit. A word that is too long is cut in two."""
    lines, line = [], ""
    for word in text.split():
        while width(word, size, mono=mono, bold=bold) > room:
            lines += [line] if line else []
            cut = max(n for n in range(1, len(word)) if n == 1 or width(word[:n], size, mono=mono, bold=bold) <= room)
            lines, line, word = [*lines, word[:cut]], "", word[cut:]
        longer = f"{line} {word}".strip()
        if width(longer, size, mono=mono, bold=bold) <= room:
            line = longer
        else:
            lines, line = [*lines, line], word
    return [*lines, line] if line else lines


def end(picture: Picture) -> str:
    """How an endless counterexample goes on."""
    if picture.back_to is not None:
        after = f"after step {picture.back_to}" if picture.back_to else "at the start"
        return f"Now all is as it was {after}. The steps from {picture.back_to + 1} on can follow again, for ever."
    return "From here on nothing happens any more." if picture.stutters else ""


def svg(picture: Picture) -> str:
    """The picture by itself, in its own colours, light or dark as the reader's screen is."""
    return environment().get_template("show.svg").render(**layout(picture))


def layout(picture: Picture) -> dict[str, object]:
    """Where everything stands in the SVG."""
    names = lanes(picture)
    longest = max(width(word, 12, bold=True) for name in names for word in name.split())
    lane = max(LANE_LEAST, min(LANE_MOST, LANES_ALL // len(names)), round(longest) + 14)
    left = MARGIN + (26 if picture.back_to is not None else 0)
    text_at = left + lane * len(names) + GAP
    total = max(WIDTH, text_at + TEXT_LEAST)
    room = total - text_at - MARGIN
    whole = total - 2 * MARGIN
    title = wrap(picture.says, whole, 19, bold=True)
    notes_top = MARGIN + 26 * len(title) + 6
    notes = [wrap("• " + sentence(note), whole, 14) for note in picture.notes]
    heads = [wrap(name, lane - 10, 12, bold=True) for name in names]
    heads_top = notes_top + sum(LINE * len(note) for note in notes) + 14
    head = 12 + 15 * max(map(len, heads))
    at = heads_top + head + 12
    found = rows(picture)
    for row in found:
        row.lines = wrap(row.text, room, 13 if row.small else 14.5)
        said = [compact(change, LONGEST) for change in row.changes]
        row.changed = [line for each in said for line in wrap(each, room, 11.5, mono=True)]
        row.height = 2 * PADDING + LINE * len(row.lines) + SMALL_LINE * len(row.changed)
        row.top, at = at, at + row.height
    steps_end = at + 8
    last = wrap(end(picture), room, 14.5)
    at = steps_end + (LINE * len(last) + PADDING if last else 0) + 6
    wrong = [wrap(text, whole - 40, 14.5) for text in verdict(picture)]
    broken_top = at
    broken_height = 30 + 26 + LINE * sum(map(len, wrong))
    known = [f"{name}: {comment}" for name, comment in picture.variables.items() if comment]
    legend = [wrap(each, whole, 11.5, mono=True) for each in known]
    legend_top = broken_top + broken_height + (14 if legend else 0)
    back = next((row for row in found if picture.back_to is not None and row.numbers[0] == picture.back_to + 1), None)
    return {
        "picture": picture,
        "end": end(picture),
        "width": total,
        "height": legend_top + SMALL_LINE * sum(map(len, legend)) + MARGIN,
        "title": title,
        "notes": notes,
        "notes_top": notes_top,
        "names": names,
        "heads": heads,
        "heads_top": heads_top,
        "head": head,
        "lane": lane,
        "left": left,
        "text_at": text_at,
        "rows": found,
        "steps_end": steps_end,
        "last": last,
        "wrong": wrong,
        "broken_top": broken_top,
        "broken_height": broken_height,
        "back": back,
        "legend": legend,
        "legend_top": legend_top,
    }


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
    widest = max(width(word, 0.7, bold=True) for name in names for word in name.split())
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
    found.globals.update(LINE=LINE, SMALL_LINE=SMALL_LINE, PADDING=PADDING, MARGIN=MARGIN)
    found.globals.update(colours=COLOURS, compact=compact, heading=heading)
    found.filters["sentence"] = sentence
    return found
