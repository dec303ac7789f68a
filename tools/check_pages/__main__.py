# SPDX-License-Identifier: PostgreSQL
"""Checks the pages of a relation file, or of a whole cluster, says which are wrong, and draws them.

    python -m tools.check_pages.__main__ [--block-size SIZE] [--no-checksums] [--json] FILE | FOLDER

Files are read only. The exit status is 0 if every page is sound or new, 1 if one is wrong or lacks its end, 2 if a file
cannot be checked. The size of a page, and whether pages have checksums, is as pg_control of the file's cluster says,
which is looked for in the folders above; without it the pages themselves say it. Of a table the line pointers, the
rows' headers and the HOT chains are checked, too, as the compaction kernels and amcheck do; the catalogs' files say
what the table is called, and which ids its rows may have. A picture of what is wrong goes to build/check-pages; of
`pgquern check-pages`, to ~/.cache/pgquern. A running server may be writing a page while it is read: a wrong page is
read again before it counts.
"""

import os
import sys
from pathlib import Path
from typing import BinaryIO

import click

from tools.check_pages.relation import CannotCheck, Relation, Verdict, read
from tools.check_pages.report import WORDS, advised, counted, counts_of, end_of, faults, says_cluster, summary
from tools.common.answer import json_option, plural, print_json, say
from tools.common.relation_file import BLOCK_SIZES, fork

LISTED = 20
CELLS = 72 * 24
"""Of the picture in the terminal."""


MARKS = {
    Verdict.NEW: click.style("·", dim=True),
    Verdict.SOUND: click.style("▪", "green"),
    Verdict.ROWS: click.style("R", "magenta"),
    Verdict.HEADER: click.style("H", "yellow"),
    Verdict.CHECKSUM: click.style("X", "red"),
}
COLOURS = ("#e6e8ee", "#5aa469", "#c9a0dc", "#e0a030", "#c8322b")


def grid(relation: Relation, cells: int) -> tuple[list[Verdict], int]:
    """The worst verdict of each cell, and how many pages a cell stands for."""
    pages = len(relation.verdicts)
    each = max(1, -(-pages // cells))
    shown = (relation.verdicts[at : at + each] for at in range(0, pages, each))
    return [next(verdict for verdict in reversed(Verdict) if verdict in those) for those in shown], each


def show(relation: Relation) -> None:
    """The verdict, the picture in the terminal, and the list of what is wrong."""
    size, pages, first = relation.block_size, len(relation.verdicts), relation.first_block
    say(f"{relation.path}: {plural(pages, 'page')} of {size} bytes: {counted(counts_of(relation.verdicts))}")
    if relation.rows.table:
        say(f"this is {relation.rows.table}")
    blocks = f", blocks {first} to {first + pages - 1}" if pages else ""
    say(f"{relation.bytes:,} bytes{blocks}. {says_cluster(relation.cluster)}")
    if words := fork(relation.path):
        say(f"this is {words}")
    cells, each = grid(relation, CELLS)
    colour = False if os.environ.get("NO_COLOR") else None
    for at in range(0, len(cells), 72):
        click.echo("".join(MARKS[verdict] for verdict in cells[at : at + 72]), color=colour)
    if each > 1:
        say(f"a mark stands for {each} pages and shows the worst of them")
    for i, why in faults(relation, LISTED):
        say(f"  block {first + i}, byte {i * size}: {why}")
    if (more := len(relation.wrong()) - LISTED) > 0:
        say(f"  and {more} more")
    for said in end_of(relation):
        say(said)
    for advice in advised(relation):
        say(advice)


def draw(relation: Relation, file: BinaryIO) -> None:
    """The picture as a PNG: a square for a page, or for several."""
    from tools.common import picture

    plt = picture.pyplot()
    import numpy as np
    from matplotlib.colors import ListedColormap

    cells, each = grid(relation, 128 * 128)
    width = min(128, max(16, int(len(cells) ** 0.5) + 1))
    values = np.full(-(-max(1, len(cells)) // width) * width, np.nan)
    values[: len(cells)] = cells
    figure, axes = plt.subplots(figsize=(8, 1.2 + 7.2 * len(values) / width / width))
    axes.imshow(values.reshape(-1, width), cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=4.5)
    axes.set_xlabel(f"{width} squares a row, {each} page{'s' if each > 1 else ''} a square")
    axes.set_yticks([])
    for verdict in Verdict:
        axes.plot([], [], "s", color=COLOURS[verdict], label=WORDS[verdict])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, fontsize=8)
    name = os.fsencode(relation.path.name).decode(errors="backslashreplace")
    title = f"{name}: {plural(len(relation.verdicts), 'page')}, {len(relation.wrong()):,} wrong"
    axes.set_title(title, parse_math=False)
    figure.savefig(file, format="png", dpi=130, bbox_inches="tight")
    plt.close(figure)


@click.command()
@click.option("--block-size", type=int, help="The BLCKSZ of the server, if no pg_control says it.")
@click.option("--no-checksums", is_flag=True, help="A file without its cluster has none: check the rest.")
@json_option("Print one JSON object, with every wrong page.")
@click.argument("file")
def main(block_size: int | None, no_checksums: bool, as_json: bool, file: str) -> None:
    """Check the pages of FILE, or of all relations of a data directory, or of a database's folder in it."""
    if not file:
        raise CannotCheck("say which file: pgquern check-pages /path/to/base/DATABASE/RELATION")
    if block_size not in (None, *BLOCK_SIZES):
        raise CannotCheck(f"{block_size} is no size of a block: 1024, 2048, 4096, 8192, 16384 or 32768")
    # Most calls are for a sound file: what only others need is loaded by them.
    if Path(file).is_dir():
        from tools.check_pages import folder

        if not any(found := folder.files(Path(file))):
            raise CannotCheck(
                f"{file}: no relation is in this directory: give a data directory, a database's folder in it (base/5),"
                " or a relation's file"
            )
        sys.exit(folder.check(Path(file), *found, as_json=as_json))
    relation = read(Path(file), block_size, checksums=not no_checksums)
    if not as_json:
        show(relation)
    drawing = None
    if not relation.sound and relation.verdicts:
        from tools.common import picture

        drawing = picture.of_file("check-pages", relation.path, ".png", lambda target: draw(relation, target))
    if as_json:
        print_json({**summary(relation), "picture": drawing})
    elif drawing:
        say(f"picture: {drawing}")
    sys.exit(0 if relation.sound else 1)


if __name__ == "__main__":
    main()
