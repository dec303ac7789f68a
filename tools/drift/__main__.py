# SPDX-License-Identifier: PostgreSQL
"""Which functions of upstream have changed: pgquern drift /path/to/postgres

Reads a checkout of PostgreSQL, 13 to master, and compares each function that our models, proofs, definitions or kernels
follow, by their comments, with what it was when 13, 14 and so on branched off. Comments and white space do not count. A
minor release may differ from its branch point by a bug fix: that is told, too; and a function that our comments name,
and that none says to follow. A few seconds.

Exit code: 0 if all are known; 1 if one has changed, is gone, or is not followed; 2 if there is no checkout, or if a
comment cannot be read.
"""

import re
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table

from tools.common.answer import json_option, print_json
from tools.common.progress import console
from tools.drift import functions, source
from tools.drift.functions import Followed


@dataclass(frozen=True)
class Found:
    """A function in a checkout."""

    name: str
    says: str
    changed: bool
    follows: list[str]


def found_of(entry: Followed, text: str, beside: str) -> Found:
    """How it stands in a checkout: `text`, "" if it is not there. beside: the version that it is compared with."""
    same = entry.same_as(source.checksum(text)) if text else []
    if beside in same:
        says, changed = f"as in {', '.join(same)}", False
    elif not text and not entry.sums:
        says, changed = f"in no source: {' or '.join(entry.files)} has none of this name; correct the comment", True
    elif not text:
        says, changed = f"not there; in {', '.join(entry.sums)}", beside in entry.sums
    elif same:
        says, changed = f"not as in {beside}, but as in {', '.join(same)}", True
    else:
        says, changed = "as in no version that we know", True
    return Found(entry.name, says, changed, entry.follows)


def compared_with(major: str) -> str:
    """The same major version if its branch point was read; otherwise the newest one that was."""
    known = {known for entry in functions.load() for known in entry.sums}
    return major if major in known else max(known, key=int, default=major)


def show(version: str, found: list[Found]) -> None:
    """A line for each function that has changed; a count of the others."""
    changed = [one for one in found if one.changed]
    table = Table(title=f"PostgreSQL {version}: what is not what we follow", title_justify="left")
    for head in ("function", "", "look again at"):
        table.add_column(head)
    for one in changed:
        table.add_row(one.name, f"[yellow]{one.says}[/]", "\n".join(one.follows))
    if changed:
        console().print(table)
    known = len(found) - len(changed)
    console().print(f"PostgreSQL {version}: {known} of {len(found)} functions as known, {len(changed)} changed")


@click.command(help=__doc__)
@click.option("--postgres", type=click.Path(path_type=Path), required=True, help="The checkout.")
@click.option("--stem", default="", help="Only this stem.")
@json_option()
@click.option("--accept", is_flag=True, help="Record the checkout's functions as those of its major version.")
def main(postgres: Path, stem: str, as_json: bool, accept: bool) -> None:
    try:
        version = source.version(postgres)
    except source.CheckoutError as error:
        console(stderr=True).print(str(error), markup=False)
        raise SystemExit(2) from error
    major = re.match(r"\d+", version)
    assert major is not None, version
    try:
        if accept:
            functions.record(major[0], postgres)
        entries = functions.load(stem)
    except functions.CommentError as error:
        console(stderr=True).print(str(error), markup=False)
        raise SystemExit(2) from error
    beside = compared_with(major[0])
    found = [found_of(entry, entry.text(postgres), beside) for entry in entries]
    missed = functions.overlooked(postgres)
    if as_json:
        print_json({"version": version, "functions": [asdict(one) for one in found], "not followed": missed})
    else:
        show(version, found)
        for name, files in missed.items():
            console().print(f"[yellow]not followed[/] {name}, named by {', '.join(files)}", soft_wrap=True)
    raise SystemExit(1 if missed or any(one.changed for one in found) else 0)


if __name__ == "__main__":
    main()
