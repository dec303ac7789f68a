# SPDX-License-Identifier: PostgreSQL
"""What a figure of Matplotlib shows, as CSV: a line for each point, bar, end of an interval, and cell of a map."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

NUMBER = re.compile(r"[-−]?[\d.,]+|")
COLUMNS = ("panel", "series", "kind", "x", "y", "value")
Row = tuple[str, str, str, str]
"""Kind, x, y, value."""


def number(value: float) -> str:
    """Six digits: a picture shows fewer."""
    return f"{value:.6g}"


class Axis:
    """Names of the places along an axis, if it has them: 0, 1, 2 and so on, each with a text."""

    def __init__(self, axis: Any) -> None:
        places = list(axis.get_majorticklocs())
        texts = [" ".join(text.split()) for text in axis.get_major_formatter().format_ticks(places)]
        are_names = places == list(range(len(places))) and not all(NUMBER.fullmatch(text) for text in texts)
        self.names = texts if are_names else []

    def __call__(self, value: float) -> str:
        """The name of the nearest place, or the number."""
        nearest = round(value) if np.isfinite(value) else -1
        return self.names[nearest] if 0 <= nearest < len(self.names) else number(value)


def said(label: object) -> str:
    """A label; those that Matplotlib makes up begin with a line."""
    text = " ".join(str(label).split())
    return "" if text.startswith("_") else text


def of_line(line: Line2D, x: Axis, y: Axis) -> Iterator[Row]:
    """A line's points. One without markers and with two points of one height is an interval."""
    xs, ys = (np.asarray(data, float) for data in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
    is_interval = line.get_marker() in ("None", "", None) and len(xs) == 2 and (ys[0] == ys[1] or xs[0] == xs[1])
    for at in zip(xs, ys, strict=True):
        yield "interval" if is_interval else "point", x(at[0]), y(at[1]), ""


def series(axes: Axes) -> Iterator[tuple[str, Row]]:
    """All that one panel shows, and the name of the series each is of: its own label, or that of its colour."""
    x, y = Axis(axes.xaxis), Axis(axes.yaxis)
    lines = [line for line in axes.get_lines() if line.get_transform() == axes.transData]
    named = {to_hex(line.get_color()): said(line.get_label()) for line in lines if said(line.get_label())}
    for line in lines:
        for row in of_line(line, x, y):
            yield said(line.get_label()) or named.get(to_hex(line.get_color()), ""), row
    for bars in axes.containers:
        if isinstance(bars, BarContainer):
            for bar in bars.patches:
                row = ("bar", x(bar.get_x() + bar.get_width() / 2), number(bar.get_y() + bar.get_height()), "")
                yield said(bars.get_label()), row
    for collection in axes.collections:
        if isinstance(collection, PathCollection):
            for at in np.asarray(collection.get_offsets(), float):
                yield said(collection.get_label()), ("point", x(at[0]), y(at[1]), "")
        elif isinstance(collection, LineCollection):
            for segment in collection.get_segments():
                for at in np.asarray(segment, float):
                    yield said(collection.get_label()), ("interval", x(at[0]), y(at[1]), "")
    for image in axes.get_images():
        cells: list[list[float]] = np.ma.filled(np.ma.asarray(image.get_array(), float), np.nan).tolist()
        for down, line_of in enumerate(cells):
            for across, value in enumerate(line_of):
                yield "", ("cell", x(across), y(down), number(value))


def table(figure: Figure) -> str:
    """The whole figure as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for place, axes in enumerate(figure.axes, 1):
        titles = (said(axes.get_title(loc)) for loc in ("left", "center"))
        panel = next(filter(None, titles), "") or said(axes.get_xlabel()) or str(place)
        for name, row in series(axes):
            if "nan" not in row[1:3]:
                writer.writerow([panel, name, *row])
    return out.getvalue()
