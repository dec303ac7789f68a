# SPDX-License-Identifier: PostgreSQL
"""What vac_update_datfrozenxid would do in a database, and which relations hold its oldest ids back.

    python -m tools.frozen.__main__ --classes classes.csv [--databases databases.csv] [--json]
    python -m tools.frozen.__main__ --connect 'host=... dbname=...' [--json]

Nothing is written anywhere. The exit status is 0 if the function would come to an end and no database is near the end
of its ids, 1 if it would give up at a value in the future or meet an XID that no table may have, or where a server
warns or gives out no more ids, 2 if the listings cannot be used. Without databases.csv the next ids are not known: then
the newest value of pg_class stands for them, and nothing is said of the future or of what is stored.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from _pgquern import lib
from pgquern.datfrozenxid import min_frozen_strided, need_update
from pgquern.errors import PgquernError
from rich.console import Console

from ref.datfrozenxid import RELKINDS, Pair
from ref.xid import XID
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.frozen.listing import (
    HELP,
    SIZE,
    Database,
    Listing,
    ListingError,
    Relation,
    Stored,
    from_connection,
    from_files,
)
from tools.frozen.wraparound import KINDS, left, shown, warnings

TOP = 10
QUOTED = "'host=... dbname=...'"
FUTURE = {lib.PGQ_DATFROZENXID_FUTURE_XID: "relfrozenxid", lib.PGQ_DATFROZENXID_FUTURE_MULTI: "relminmxid"}
MEND = (
    "What to do: the value is corrupt, or the listings are of different times. While it stands, no VACUUM moves this"
    " database's datfrozenxid, and the server says nothing. Make both listings anew; if it stays, run VACUUM FREEZE on"
    " that table: it sets the value anew, and 15 and later say so (overwrote invalid {column} value)."
)
OLDER_ROWS = (
    "If it fails (found xmin ... from before relfrozenxid), rows are left that are not frozen: then dump and reload the"
    " table; if it is a catalog, the database."
)
PERMANENT = (
    "PERMANENT: no table has XID 1 or 2 as its relfrozenxid, so the first one below is corrupt. A server with"
    " assertions stops here. What to do: VACUUM FREEZE that table, which sets it anew, and make both listings again."
)
OVERTAKEN = (
    "What to do: make both listings anew. If it stays, the next VACUUM may cut off what pg_xact says of that table's"
    " rows: run VACUUM FREEZE on the table before any other."
)
COLUMNS = (("datfrozenxid", "relfrozenxid", "XID"), ("datminmxid", "relminmxid", "MultiXactId"))


class CannotAnswer(click.ClickException):
    """The listings cannot be used."""

    exit_code = 2


@dataclass(frozen=True)
class Held:
    """A relation, and the age of its value; None is a permanent XID, older than all."""

    oid: int
    name: str
    value: int
    age: int | None


@dataclass(frozen=True)
class Answer:
    """`minimum` is None if the function gives up at `future`; `stored` and `replaces` if pg_database is not known."""

    database: str | None
    relations: int
    start: Pair
    next_ids: Pair
    minimum: Pair | None
    future: tuple[Relation, str] | None
    stored: Pair | None
    replaces: tuple[bool, bool] | None
    back: dict[str, list[Held]]
    databases: list[Database]
    warnings: list[str]

    @property
    def permanent(self) -> bool:
        """Whether the minimum is an XID that no table may have."""
        return self.minimum is not None and not XID.is_normal(self.minimum.xid)

    @property
    def good(self) -> bool:
        return not (self.future or self.permanent or self.warnings)


def newest(values: list[int], multixact: bool) -> int:
    """Stands for the next id where that is not known; the values must lie within half the ring."""
    normal = [x for x in values if (x != 0 if multixact else XID.is_normal(x))]
    if not normal:
        return 3
    best = normal[0]
    for x in normal:
        if (x - best) % SIZE < SIZE // 2:
            best = x
    if any((best - x) % SIZE >= SIZE // 2 for x in normal):
        raise CannotAnswer(
            f"the values span more than half of the ring: give {option('DATABASES')} too, which has the next ids"
        )
    return best


def ask(listing: Listing) -> Answer:
    """What the kernels say."""
    held = [relation for relation in listing.relations if relation.relkind in RELKINDS]
    rows = [(relation.relkind, relation.relfrozenxid, relation.relminmxid) for relation in listing.relations]
    stored = listing.stored
    if stored:
        start, next_ids = stored.start, stored.next_ids
    else:
        xids, multis = [r.relfrozenxid for r in held], [r.relminmxid for r in held]
        start = next_ids = Pair(newest(xids, False), newest(multis, True))
    future, minimum, replaces = None, None, None
    try:
        minimum = Pair(*min_frozen_strided([(k if k.isascii() else "?", x, m) for k, x, m in rows], start, next_ids))
    except PgquernError as error:
        if error.code not in FUTURE:
            raise CannotAnswer(str(error)) from error
        future = listing.relations[error.index - 1], FUTURE[error.code]
    if minimum and stored and XID.is_normal(minimum.xid):
        replaces = need_update(stored.dat, minimum, next_ids)
    back = {
        "relfrozenxid": oldest(held, "relfrozenxid", next_ids.xid),
        "relminmxid": oldest(held, "relminmxid", next_ids.multi),
    }
    databases = stored.all if stored else [Database("of this pg_class", minimum)] if minimum else []
    said = [*warnings(databases, next_ids, stored), *(overtaken(stored, back) if stored else ())]
    return Answer(
        stored.database if stored else None, len(held), start, next_ids, minimum, future,
        stored.dat if stored else None, replaces, back, databases, said,
    )  # fmt: skip


def overtaken(stored: Stored, back: dict[str, list[Held]]) -> Iterator[str]:
    """Values of pg_database that lie beyond one of pg_class: what the older rows need may be cut off."""
    for i, (column, held_in, _) in enumerate(COLUMNS):
        age = age_of(stored.dat[i], held_in, stored.next_ids[i])
        older = [one for one in back[held_in] if age is not None and (one.age or 0) > age >= 0]
        if older:
            one = older[0]
            said = f"{held_in} {one.value} of {shown(one.name)} (oid {one.oid})"
            yield f"OVERTAKEN: {column} {stored.dat[i]} lies beyond {said}. {OVERTAKEN}"


def age_of(value: int, column: str, next_id: int) -> int | None:
    """Negative: the value lies in the future. None: a permanent XID."""
    if column == "relfrozenxid" and not XID.is_normal(value):
        return None
    return (next_id - value + SIZE // 2) % SIZE - SIZE // 2


def oldest(held: list[Relation], column: str, next_id: int) -> list[Held]:
    """The ten relations with the oldest values; invalid ones do not count."""
    found = [
        Held(relation.oid, relation.name, value, age_of(value, column, next_id))
        for relation in held
        if (value := int(getattr(relation, column)))
    ]
    return sorted(found, key=lambda one: (one.age is not None, -(one.age or 0), one.oid))[:TOP]


def decision(stored: int, new: int, replaces: bool, next_id: int, what: str, column: str) -> str:
    """What happens to a stored value, and why."""
    age = age_of(stored, "relfrozenxid" if what == "XID" else "relminmxid", next_id)
    ahead = f"{column} {stored} lies in the future (the next {what} is {next_id})"
    if replaces and age is not None and age < 0:
        return f"{ahead}: {new} replaces it, though it may go back by that"
    if replaces:
        return f"{column} {stored} would be replaced by {new}, which is newer"
    if stored == new:
        return f"{column} {stored} stays: the minimum is the same"
    return f"{column} {stored} stays: the minimum {new} is older, and it must not go back"


def in_columns(value: int, rest: int | None) -> str:
    """A value, its age and what is left; of one in the future, and of one that is not normal, that it is so."""
    if rest is None or rest < 0:
        return f"  {value:>10} {'IN THE FUTURE' if rest else 'not normal':>27}"
    return f"  {value:>10} {SIZE // 2 - 1 - rest:>13,} {rest:>13,}"


def lines(answer: Answer) -> Iterator[str]:
    where = f"database {shown(answer.database)}" if answer.database else "the database of this pg_class"
    yield f"{where}: {answer.relations:,} relations that hold XIDs (tables, materialised views, TOAST tables)"
    if answer.stored:
        yield (
            f"next XID {answer.next_ids.xid}, next MultiXactId {answer.next_ids.multi}; the oldest transaction, slot or"
            f" snapshot is at XID {answer.start.xid}"
        )
    else:
        lacking = option("DATABASES")
        yield f"no {lacking} was given: ages count from the newest value of pg_class, and the future is not known"
    if answer.stored:
        yield "databases, the oldest first: datfrozenxid, its age, and how many XIDs are left; the same of datminmxid:"
        rests = [[left(one.dat[i], answer.next_ids[i], KINDS[i][2]) for i in (0, 1)] for one in answer.databases]
        for rest, database in sorted(zip(rests, answer.databases, strict=True), key=lambda pair: pair[0][0] or 0):
            why = " (invalid: its DROP DATABASE was broken off; drop it)" if database.invalid else ""
            yield "".join(map(in_columns, database.dat, rest)) + f"  {shown(database.name)}{why}"
    yield from answer.warnings
    if answer.future:
        relation, column = answer.future
        yield (
            f"GIVES UP: {column} {getattr(relation, column)} of {shown(relation.name)} (oid {relation.oid}) lies in the"
            " future: vac_update_datfrozenxid would change nothing"
        )
        yield MEND.format(column=column)
        if column == "relfrozenxid":
            yield OLDER_ROWS
    if answer.minimum:
        yield f"minimum: relfrozenxid {answer.minimum.xid}, relminmxid {answer.minimum.multi}"
        if answer.permanent:
            yield PERMANENT
    if answer.minimum and answer.stored and answer.replaces:
        for i, (column, _, what) in enumerate(COLUMNS):
            yield decision(answer.stored[i], answer.minimum[i], answer.replaces[i], answer.next_ids[i], what, column)
    for column, relations in answer.back.items():
        yield f"who holds {column} back:" if relations else f"no relation has a valid {column}"
        for one in relations:
            age = (
                "permanent" if one.age is None else f"IN THE FUTURE by {-one.age:,}" if one.age < 0 else f"{one.age:,}"
            )
            yield f"  {one.value:>10}  age {age:>13}  {shown(one.name)} (oid {one.oid})"


def found_in(answer: Answer) -> dict[str, Any]:
    """With what the function would leave in pg_database."""
    future = None
    if answer.future:
        future = {**asdict(answer.future[0]), "column": answer.future[1]}
    after = None
    if answer.stored and not answer.permanent:
        pairs = zip(answer.replaces or (False, False), answer.minimum or answer.stored, answer.stored, strict=True)
        after = [new if replaces else old for replaces, new, old in pairs]
    return {**asdict(answer), "future": future, "after": after}


@click.command(epilog="\b\n" + HELP.replace("\n\n", "\n\b\n"))
@click.option("--classes", help="pg_class of one database, as CSV.")
@click.option("--databases", help="pg_database as CSV, made in the same database.")
@click.option("--connect", help="In place of both: a connection string, 'host=... dbname=...'; it only reads.")
@json_option()
def main(classes: str | None, databases: str | None, connect: str | None, as_json: bool) -> None:
    """What vac_update_datfrozenxid would do, and who holds it back."""
    if bool(classes) == bool(connect) or (databases and not classes):
        raise CannotAnswer(
            f"give {option('CLASSES', 'classes.csv')} and {option('DATABASES', 'databases.csv')}, or"
            f" {option('CONNECT', QUOTED)} alone.\n" + HELP
        )
    try:
        if connect:
            listing = from_connection(connect)
        else:
            listing = from_files(Path(classes or ""), Path(databases) if databases else None)
        answer = ask(listing)
    except ListingError as error:
        raise CannotAnswer(str(error)) from error
    if as_json:
        print_json(found_in(answer))
    else:
        console = Console(soft_wrap=True, highlight=False, markup=False)
        for line in lines(answer):
            console.print(line)
    sys.exit(0 if answer.good else 1)


if __name__ == "__main__":
    main()
