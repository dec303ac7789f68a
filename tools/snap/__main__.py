# SPDX-License-Identifier: PostgreSQL
"""What a slot's .snap file says, whether it is sound, what a purge would keep, and whether its xmax is stale.

    python -m tools.snap.__main__ [--xmin XID] [--json] PATH

PATH is a file of pg_logical/snapshots, or that folder: then it says first how many there are, which slot keeps them,
and what would let them go, by the files of pg_replslot. Files are only read. The exit status is 0 if all are sound and
no xmax is stale, 1 if not, 2 if nothing could be read. A folder's file that cannot be read counts as not sound, and the
others are read. What a stale xmax does: tests/findings/stale_xmax.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pgquern.snapbuild import Committed

from ref.snapbuild import purge_catchange
from ref.xid import XID
from tools.common.answer import json_option, print_json, say
from tools.common.relation_file import ClusterError, major_of, os_words
from tools.snap.file import FLAGS, LAYOUTS, LSNS, PREFIX, NoSnapError, Snap, decode, lsn, lsn_of, prefix
from tools.snap.slots import summary

FAR = 2**30
"""An xmax that lies so far from xmin is stale: half of the way to the point where it does harm."""
SHOWN = 8
LISTED = 20
"""Files of a folder that are shown though they are sound."""
MOST = 2**30
"""Bytes of a file: a server can allocate no more than that for its XIDs."""
LOST = (
    "What to do: rows that were decoded since may lack what those transactions changed in the catalogs: compare the"
    " subscriber's tables. ANALYZE of any table in this database moves xmax on for what follows."
)
PASSED = (
    "What to do: rows that were decoded while XIDs passed that point may lack what a transaction changed in the"
    " catalogs then: compare the subscriber's tables. This state alone does no further harm."
)
AHEAD = "What to do: run ANALYZE on any table of the slot's database, and let the slot go on: that moves xmax."
DAMAGED = (
    "What to do: a server refuses such a file with an error. While it is stopped, move the file away, keep a copy, and"
    " start it: the slot goes on from an older file if there is one; otherwise drop the slot and make it again."
)

UNSEEN = (
    "What to do: no server writes such a file, but none refuses it: it checks magic, version and checksum, which are"
    " right. What is decoded from it may be wrong. While the server is stopped, move the file away, and keep a copy."
)


class CannotRead(click.ClickException):
    """There is nothing that could be decoded."""

    exit_code = 2


@dataclass
class Answer:
    """Of one file. `damaged`: what is wrong with it; `warnings`: of its xmax."""

    path: Path
    snap: Snap | None
    damaged: list[str]
    warnings: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    kept: dict[str, list[int]] = field(default_factory=dict)
    invisible: list[int] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.damaged or self.warnings)


def distance(xid: int, origin: int) -> int:
    """From origin to xid by the order of the ring: negative if xid precedes it."""
    return XID.difference(xid, origin)


def invisible(snap: Snap) -> list[int]:
    """Committed XIDs that every snapshot made of this state takes as still running: at or past xmax, and not before
    xmin, where pg_xact would be asked."""
    xmin, xmax = snap.fields["xmin"], snap.fields["xmax"]
    return [x for x in snap.committed if not XID.precedes(x, xmax) and not XID.precedes(x, xmin)]


def stale(snap: Snap) -> tuple[str, str]:
    """Why its xmax may do harm, and what to do; empty if it is near xmin. To lie behind xmin is usual, and harmless."""
    xmin, xmax = snap.fields["xmin"], snap.fields["xmax"]
    ahead, opposite = distance(xmax, xmin), (xmax + 2**31) % 2**32
    if abs(ahead) < FAR:
        return "", ""
    if ahead > 0:
        return (
            f"STALE xmax: it seems {ahead:,} XIDs ahead of xmin. No transaction runs so long: xmax was left behind, and"
            f" XIDs have passed {opposite}, the point opposite to it"
        ), PASSED
    return (
        f"STALE xmax: it lies {-ahead:,} XIDs behind xmin. Let two transactions that change catalogs lie on both sides"
        f" of XID {opposite} (xmax + 2^31, {2**31 + ahead:,} after xmin): if the younger commits first, decoding does"
        " not see its changes"
    ), AHEAD


def content(path: Path) -> bytes:
    """What a file holds. No more than its prefix is read if that is no .snap file's: such a file may be of any size."""
    try:
        # A FIFO would not even open before somebody writes to it.
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise CannotRead(f"{path}: no regular file: give a file of pg_logical/snapshots")
        with path.open("rb") as file:
            head = file.read(PREFIX.size)
            prefix(head)
            if found.st_size > MOST:
                raise NoSnapError(f"{found.st_size:,} bytes: no server can allocate so much")
            return head + file.read()
    except OSError as error:
        raise CannotRead(f"{path}: {os_words(path, error)}") from error


def major_beside(path: Path) -> int | None:
    """Of the cluster in which the file lies; None if it lies in none."""
    try:
        found = major_of(path)
    except ClusterError as error:
        raise CannotRead(f"{path}: {error}") from error
    known = {str(major): major for layout in LAYOUTS.values() for major in layout.majors}
    if found and found not in known:
        raise CannotRead(
            f"{path}: its cluster is of PostgreSQL {found}: known are the .snap files of {', '.join(known)}"
        )
    return known.get(found)


def read(path: Path, xmin: int | None) -> Answer:
    """Decode a file and judge it."""
    try:
        snap = decode(content(path), path.name, major_beside(path))
    except NoSnapError as error:
        if path.suffix != ".snap":
            raise CannotRead(f"{path}: no .snap file: {error}") from error
        return Answer(path, None, [str(error)], advice=[DAMAGED])
    answer = Answer(path, snap, snap.faults)
    if snap.faults:
        answer.advice.append(DAMAGED if snap.refused else UNSEEN)
        return answer
    at = snap.fields["xmin"] if xmin is None else xmin
    committed = Committed(snap.committed)
    committed.purge(at)
    answer.kept = {"committed.xip": committed.xip, "catchange.xip": purge_catchange(snap.catchange, at)}
    answer.invisible = invisible(snap)
    if answer.invisible:
        answer.warnings.append(
            f"LOST: {len(answer.invisible):,} committed XIDs lie at or past xmax ({some(answer.invisible)}): every"
            " snapshot made of this state takes them as still running, so their catalog changes are invisible"
        )
        answer.advice.append(LOST)
    words, advice = stale(snap)
    if words:
        answer.warnings.append(words)
        answer.advice.append(advice)
    return answer


def some(xids: Sequence[int]) -> str:
    return ", ".join(map(str, xids[:SHOWN])) + (f", and {len(xids) - SHOWN:,} more" if len(xids) > SHOWN else "")


def spans(xids: Sequence[int], xmin: int) -> str:
    """How many, and from which to which by the order of the ring."""
    if not xids:
        return "0 XIDs"
    ordered = sorted(xids, key=lambda xid: distance(xid, xmin))
    return f"{len(xids):,} XIDs, {ordered[0]} to {ordered[-1]}: {some(xids)}"


def value(name: str, number: int) -> str:
    if name in LSNS:
        return lsn(number)
    if name in FLAGS and number < 2:
        return "true" if number else "false"
    return f"{number} (CONSISTENT)" if (name, number) == ("state", 2) else str(number)


def lines(answer: Answer, xmin: int | None) -> Iterator[str]:
    """A file in full."""
    snap = answer.snap
    good = "sound" if answer.good else "undamaged, but what is decoded from it may be wrong: LOOK BELOW"
    yield f"{answer.path}: " + ("damaged" if answer.damaged else good)
    if snap:
        checksum = "" if answer.damaged else ", which is right"
        yield f"  version {snap.version} (PostgreSQL {snap.majors}), checksum {snap.checksum:#010x}{checksum}"
        yield f"  {'length':<36} {snap.length}"
        for name, number in snap.fields.items():
            yield f"  {name:<36} {value(name, number)}"
        yield f"  {'committed.xip':<36} {spans(snap.committed, snap.fields['xmin'])}"
        if "catchange.xcnt" in snap.fields:
            yield f"  {'catchange.xip':<36} {spans(snap.catchange, snap.fields['xmin'])}"
    if snap and answer.kept:
        at = snap.fields["xmin"] if xmin is None else xmin
        for name, kept in answer.kept.items():
            if name == "committed.xip" or "catchange.xcnt" in snap.fields:
                before = len(snap.committed if name == "committed.xip" else snap.catchange)
                yield f"  a purge at xmin {at} keeps {len(kept):,} of {before:,} in {name}"
        behind = distance(snap.fields["xmin"], snap.fields["xmax"])
        if 0 < behind < FAR:
            yield f"  xmax lies {behind:,} XIDs behind xmin: no catalog changed since, which does no harm"
    yield from verdict(answer)


def verdict(answer: Answer) -> Iterator[str]:
    yield from (f"  WRONG: {words}" for words in answer.damaged)
    yield from (f"  {words}" for words in answer.warnings)
    yield from (f"  {words}" for words in answer.advice)


def short(answer: Answer) -> Iterator[str]:
    """A file of a folder: a line, and what is wrong."""
    if answer.snap:
        fields = answer.snap.fields
        yield (
            f"{answer.path.name}: PostgreSQL {answer.snap.majors}, xmin {fields['xmin']}, xmax {fields['xmax']},"
            f" committed {len(answer.snap.committed):,}, catchange {len(answer.snap.catchange):,}"
            f"{'' if answer.good else ': LOOK BELOW'}"
        )
    else:
        yield f"{answer.path.name}: damaged"
    yield from verdict(answer)


def found_in(answer: Answer) -> dict[str, Any]:
    snap = answer.snap
    return {
        "file": str(answer.path),
        "version": snap.version if snap else None,
        "majors": snap.majors if snap else None,
        "checksum": snap.checksum if snap else None,
        "length": snap.length if snap else None,
        "fields": snap.fields if snap else {},
        "committed.xip": snap.committed if snap else [],
        "catchange.xip": snap.catchange if snap else [],
        "kept": answer.kept,
        "invisible": answer.invisible,
        "damaged": answer.damaged,
        "warnings": answer.warnings,
        "advice": answer.advice,
    }


def read_all(files: Sequence[Path], xmin: int | None) -> list[Answer]:
    """One that cannot be read does not hide the others; a checkpoint may remove one that was just listed."""
    answers, unread = list[Answer](), list[CannotRead]()
    for file in files:
        try:
            answers.append(read(file, xmin))
        except CannotRead as error:
            unread.append(error)
            if os.path.lexists(file):
                answers.append(Answer(file, None, [error.message.removeprefix(f"{file}: ")]))
    if len(unread) == len(files):
        raise unread[0]
    return answers


def files(path: Path) -> list[Path]:
    """The file, or the .snap files of the folder, in the order of their LSNs."""
    try:
        path.stat()
        if not path.is_dir():
            return [path]
        there = [path / name for name in os.listdir(path) if name.endswith(".snap")]
    except FileNotFoundError as error:
        raise CannotRead(
            f"{path}: there is no such file; .snap files lie in pg_logical/snapshots of the data directory"
        ) from error
    except OSError as error:
        raise CannotRead(f"{path}: {os_words(path, error)}") from error
    found = sorted(there, key=lambda file: (lsn_of(file.name) or 0, file.name))
    if not found:
        raise CannotRead(
            f"{path}: no .snap file is in it; they lie in pg_logical/snapshots, where a logical slot is used"
        )
    return found


@click.command()
@click.option("--xmin", type=click.IntRange(3, 2**32 - 1), help="Purge at this XID, in place of the file's own xmin.")
@json_option("Print a JSON array, an object for each file.")
@click.argument("path")
def main(xmin: int | None, as_json: bool, path: str) -> None:
    """Decode and check PATH, a .snap file or a folder of them."""
    if not path:
        raise CannotRead("say which file: pgquern snap /path/to/data/pg_logical/snapshots")
    answers = read_all(files(Path(path)), xmin)
    if as_json:
        print_json([found_in(answer) for answer in answers])
    else:
        if len(answers) > 1:
            say(f"{len(answers):,} files, {sum(not answer.good for answer in answers):,} with a fault")
            for line in summary([answer.path for answer in answers]):
                say(line)
        hidden = [answer for answer in answers[LISTED:] if answer.good]
        if hidden:
            say(f"{len(hidden):,} sound files are not shown; --json has all")
        for answer in (answer for i, answer in enumerate(answers) if i < LISTED or not answer.good):
            for line in lines(answer, xmin) if len(answers) == 1 else short(answer):
                say(line)
    sys.exit(0 if all(answer.good for answer in answers) else 1)


if __name__ == "__main__":
    main()
