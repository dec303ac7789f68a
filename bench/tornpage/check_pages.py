# SPDX-License-Identifier: PostgreSQL
"""Checks the pages of a relation file, says which are wrong, and draws them.

    python -m bench.tornpage.check_pages [--block-size 8192] FILE

The file is read only. Its exit status is 0 if every page is sound or new, 1 if one is wrong, 2 if the file cannot be
checked. A picture goes to build/check-pages/FILE.png. A running server may be writing a page while it is read: a wrong
page is read again before it counts.
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from pgquern.tornpage import Verdict, check, checksums
from rich.console import Console

CHUNK = 64 * 1024 * 1024
SEGMENT_BYTES = 1 << 30
"""Of a relation's segment file."""
AGAIN = 3
"""How often a wrong page is read."""
LISTED = 20
CELLS = 72 * 24
"""Of the picture in the terminal."""
MARKS = {
    Verdict.NEW: "[dim]·[/]",
    Verdict.SOUND: "[green]▪[/]",
    Verdict.HEADER: "[yellow]H[/]",
    Verdict.CHECKSUM: "[red]X[/]",
}
COLOURS = {Verdict.NEW: "#e6e8ee", Verdict.SOUND: "#5aa469", Verdict.HEADER: "#e0a030", Verdict.CHECKSUM: "#c8322b"}
WORDS = {
    Verdict.NEW: "new (all zero)",
    Verdict.SOUND: "sound",
    Verdict.HEADER: "with a broken header",
    Verdict.CHECKSUM: "with a wrong checksum",
}
ORDER = (Verdict.NEW, Verdict.SOUND, Verdict.HEADER, Verdict.CHECKSUM)
"""A cell that stands for several pages shows the last of these among them."""


class CannotCheck(click.ClickException):
    """The file is no relation file that can be checked."""

    exit_code = 2


@dataclass(frozen=True)
class Relation:
    """A relation file and what was found in it."""

    path: Path
    block_size: int
    first_block: int
    verdicts: list[Verdict]

    def wrong(self) -> list[int]:
        """Indexes of the wrong pages."""
        return [i for i, verdict in enumerate(self.verdicts) if verdict in (Verdict.CHECKSUM, Verdict.HEADER)]


def first_block(path: Path, block_size: int) -> int:
    """The number of the first block, by the segment in the file's name: 16384.2 is the third gigabyte."""
    segment = re.fullmatch(r"\d+(?:_\w+)?\.(\d+)", path.name)
    return int(segment[1]) * (SEGMENT_BYTES // block_size) if segment else 0


def require_block_size(page: bytes, block_size: int) -> None:
    """A page of another size, or no page at all, is said at once: otherwise every page would look wrong."""
    version = int.from_bytes(page[18:20], "little")
    says = version & 0xFF00
    if says == block_size or not any(page):
        return
    if says in (1024, 2048, 4096, 8192, 16384, 32768) and version & 0xFF in range(1, 5):
        raise CannotCheck(f"the pages say that they have {says} bytes, not {block_size}: give BLOCK_SIZE={says}")


def read(path: Path, block_size: int) -> Relation:
    """Check all pages. CannotCheck: not a file, not whole pages, another block size, or no checksums."""
    if not path.is_file():
        raise CannotCheck(f"{path}: " + ("is a directory" if path.is_dir() else "there is no such file"))
    size = path.stat().st_size
    if size % block_size:
        raise CannotCheck(
            f"{path}: {size} bytes are {size // block_size} pages of {block_size} bytes and {size % block_size} bytes"
            " more: the file is truncated, or its pages have another size (BLOCK_SIZE=)"
        )
    first, verdicts, stored = first_block(path, block_size), list[Verdict](), False
    with path.open("rb") as file:
        while pages := file.read(CHUNK // block_size * block_size):
            pages = pages[: len(pages) // block_size * block_size]
            if not verdicts:
                require_block_size(pages[:block_size], block_size)
            found = check(pages, block_size=block_size, first_block=first + len(verdicts))
            stored = stored or any(any(pages[at + 8 : at + 10]) for at in range(0, len(pages), block_size))
            verdicts += found
    if not stored and Verdict.CHECKSUM in verdicts:
        raise CannotCheck(f"{path}: no page has a checksum: the cluster was made without --data-checksums")
    return Relation(path, block_size, first, confirmed(path, block_size, first, verdicts))


def confirmed(path: Path, block_size: int, first: int, verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts, after wrong pages were read again."""
    found = list(verdicts)
    with path.open("rb", buffering=0) as file:
        for i, verdict in enumerate(verdicts):
            for _ in range(AGAIN if verdict in (Verdict.CHECKSUM, Verdict.HEADER) else 0):
                file.seek(i * block_size)
                page = file.read(block_size)
                if len(page) == block_size and found[i] in (Verdict.CHECKSUM, Verdict.HEADER):
                    (found[i],) = check(page, block_size=block_size, first_block=first + i)
    return found


def grid(relation: Relation, cells: int) -> tuple[list[Verdict], int]:
    """The worst verdict of each cell, and how many pages a cell stands for."""
    pages = len(relation.verdicts)
    each = max(1, -(-pages // cells))
    worst = [max(relation.verdicts[at : at + each], key=ORDER.index) for at in range(0, pages, each)]
    return worst, each


def show(relation: Relation, console: Console) -> None:
    """The picture in the terminal, and the list of what is wrong."""
    cells, each = grid(relation, CELLS)
    for at in range(0, len(cells), 72):
        console.print("".join(MARKS[verdict] for verdict in cells[at : at + 72]), highlight=False)
    if each > 1:
        console.print(f"a mark stands for {each} pages and shows the worst of them")
    counts = Counter(relation.verdicts)
    words = ", ".join(f"{counts[verdict]:,} {WORDS[verdict]}" for verdict in ORDER if counts[verdict]) or "none"
    console.print(f"{relation.path}: {len(relation.verdicts):,} pages of {relation.block_size} bytes: {words}")
    wrong = relation.wrong()
    with relation.path.open("rb") as file:
        for i in wrong[:LISTED]:
            file.seek(i * relation.block_size)
            page, block = file.read(relation.block_size), relation.first_block + i
            (right,) = checksums(page, block_size=relation.block_size, first_block=block)
            has = int.from_bytes(page[8:10], "little")
            console.print(f"  block {block}, byte {i * relation.block_size}: pd_checksum {has}, calculated {right}")
    if len(wrong) > LISTED:
        console.print(f"  and {len(wrong) - LISTED} more")


def draw(relation: Relation, target: Path) -> None:
    """The picture as a PNG: a square for a page, or for several."""
    # Not at the top: these take longer to load than most files to check.
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap

    cells, each = grid(relation, 128 * 128)
    width = min(128, max(16, int(len(cells) ** 0.5) + 1))
    values = np.full(-(-max(1, len(cells)) // width) * width, np.nan)
    values[: len(cells)] = [ORDER.index(verdict) for verdict in cells]
    figure, axes = plt.subplots(figsize=(8, 1.2 + 7.2 * len(values) / width / width))
    axes.imshow(values.reshape(-1, width), cmap=ListedColormap([COLOURS[v] for v in ORDER]), vmin=-0.5, vmax=3.5)
    axes.set_xlabel(f"{width} squares a row, {each} page{'s' if each > 1 else ''} a square")
    axes.set_yticks([])
    for verdict in ORDER:
        axes.plot([], [], "s", color=COLOURS[verdict], label=WORDS[verdict])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4, frameon=False, fontsize=8)
    axes.set_title(f"{relation.path.name}: {len(relation.verdicts):,} pages, {len(relation.wrong()):,} wrong")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=130, bbox_inches="tight")
    plt.close(figure)


@click.command()
@click.option("--block-size", default=8192, show_default=True, help="The BLCKSZ of the server.")
@click.argument("file")
def main(block_size: int, file: str) -> None:
    """Check the pages of FILE."""
    if not file:
        raise CannotCheck("say which file: make check-pages FILE=/path/to/base/DATABASE/RELATION")
    if block_size not in (1024, 2048, 4096, 8192, 16384, 32768):
        raise CannotCheck(f"{block_size} is no size of a block: 1024, 2048, 4096, 8192, 16384 or 32768")
    relation = read(Path(file), block_size)
    console, target = Console(soft_wrap=True), Path("build/check-pages") / f"{Path(file).name}.png"
    show(relation, console)
    draw(relation, target)
    console.print(f"picture: {target}")
    sys.exit(1 if relation.wrong() else 0)


if __name__ == "__main__":
    main()
