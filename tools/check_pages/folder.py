# SPDX-License-Identifier: PostgreSQL
"""All relation files below a folder of a cluster: several at a time, and one verdict."""

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.check_pages.relation import CannotCheck, Verdict, read
from tools.check_pages.report import advised, counted, counts_of, summary
from tools.common.answer import plural, print_json, say
from tools.common.relation_file import os_words, start_of

LISTED = 50
RELATION = re.compile(r"(t\d+_)?\d+(_(fsm|vm|init))?(\.\d+)?")


def below(folder: Path, names: list[str]) -> list[str]:
    """The folders below one of a cluster that may hold relations: a table space may have those of other versions."""
    if (folder / "global" / "pg_control").exists():
        return [name for name in names if name in ("base", "global", "pg_tblspc")]
    if folder.parent.name == "pg_tblspc" and (version := start_of(folder.parents[1] / "PG_VERSION", 64)):
        return [name for name in names if name.startswith(f"PG_{version.decode(errors='replace').strip()}_")]
    return [name for name in names if name != "lost+found"]


def holds_relations(folder: Path) -> bool:
    """Whether it is global, or a database's."""
    if folder.name == "global":
        return (folder / "pg_filenode.map").exists() or (folder / "pg_control").exists()
    is_above = folder.parent.name == "base" or re.match(r"PG_\d+", folder.parent.name) is not None
    return folder.name.isdigit() and is_above


@dataclass(frozen=True)
class Checked:
    """What became of a file."""

    path: Path
    table: str = ""
    counts: dict[Verdict, int] = field(default_factory=dict)
    """How many pages have which verdict."""
    error: str = ""
    """Why it could not be checked."""
    wrong: dict[str, Any] | None = None
    """What is said of a file that is not sound."""
    advice: tuple[str, ...] = ()


def files(top: Path) -> tuple[list[Path], list[Checked]]:
    """Relation files below a data directory, a tablespace or a database's folder, the largest first; what is unread."""
    found, unread, seen, walked = dict[Path, int](), list[Checked](), set[str](), set[tuple[str, str, str]]()

    def refused(error: OSError) -> None:
        path = Path(error.filename)
        unread.append(Checked(path, error=f"{path}: {os_words(path, error)}"))

    for folder, folders, names in os.walk(os.path.abspath(top), onerror=refused, followlinks=True):
        path, real = Path(folder), os.path.realpath(folder)
        at = (real, path.name, path.parent.name)  # by these names what is below is known
        folders[:] = [] if real in seen or at in walked else below(path, folders)
        walked.add(at)
        if path.name == "pg_tblspc":
            unread += [
                Checked(path / name, error=f"{path / name}: the tablespace's folder is not there") for name in names
            ]
        if real in seen or not holds_relations(path):
            continue
        seen.add(real)
        for name in filter(RELATION.fullmatch, names):
            # A running server may have deleted it meanwhile.
            with suppress(FileNotFoundError):
                found[path / name] = os.stat(path / name, follow_symlinks=os.path.exists(path / name)).st_size
    return sorted(found, key=lambda path: (-found[path], path)), unread


def checked(path: Path) -> Checked:
    """One file, in a process of its own."""
    try:
        relation = read(path, None)
    except CannotCheck as error:
        # A running server may have deleted it meanwhile.
        return Checked(path, error=str(error) if os.path.lexists(path) else "")
    wrong = None if relation.sound else summary(relation)
    advice = () if relation.sound else tuple(advised(relation))
    return Checked(path, relation.rows.table, counts_of(relation.verdicts), wrong=wrong, advice=advice)


def _all(paths: list[Path]) -> Iterator[Checked]:
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(checked, paths)
        if not sys.stderr.isatty():
            yield from found
            return
        from tools.common import progress  # of no use elsewhere, and slow to load

        with progress.bar(progress.console(stderr=True)) as bar:
            yield from bar.track(found, total=len(paths), description="files")


def check(top: Path, paths: list[Path], unread: list[Checked], *, as_json: bool) -> int:
    """Print the verdict, then what is wrong with which table. Returns the exit status. paths, unread: of `files`."""
    results = [*_all(paths), *unread]
    wrong, errors = [one for one in results if one.wrong], [one for one in results if one.error]
    counts = {verdict: sum(one.counts.get(verdict, 0) for one in results) for verdict in Verdict}
    pages = sum(counts.values())
    status = 1 if wrong else 2 if errors else 0
    if as_json:
        print_json(
            {
                "folder": str(top),
                "sound": not (wrong or errors),
                "files": len(results),
                "pages": pages,
                **{f"pages_{verdict.name.lower()}": counts[verdict] for verdict in Verdict},
                "wrong": [one.wrong for one in wrong],
                "errors": [{"file": str(one.path), "error": one.error} for one in errors],
            }
        )
        return status
    verdict = (
        f"{len(wrong):,} of {len(results):,} files are damaged"
        if wrong
        else f"{len(results) - len(errors):,} files are sound"
    )
    verdict += f", {len(errors):,} could not be checked" if errors else ""
    say(f"{top}: {verdict}; {plural(pages, 'page')}: {counted(counts)}")
    for one in wrong[:LISTED]:
        assert one.wrong
        say(f"  {one.table or one.path.name}: {counted(one.counts)}")
        said = [f"block {page['block']}: {page['why']}" for page in one.wrong["wrong"][:1]] or one.wrong["says"][:1]
        say(f"    {said[0]}")
        say(f"    pgquern check-pages {one.path}")
    for one in errors[:LISTED]:
        say(f"  not checked: {one.error}")
    if hidden := len(wrong[LISTED:]) + len(errors[LISTED:]):
        say(f"and {hidden} files more: --json has them all")
    for advice in dict.fromkeys(advice for one in wrong for advice in one.advice):
        say(advice)
    return status
