# SPDX-License-Identifier: PostgreSQL
"""An answer in words, the verdict first; and as a document for a script."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tools.frozen.answer import TOP, Answer, age, oldest
from tools.frozen.state import SIZE, Relation, StateError
from tools.frozen.wraparound import KINDS, left

UNTIL = {"forced": "autovacuum forces itself", "warns": "a server warns", "refuses": "it gives out no more"}
SPANS = ((365.25 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))
SHOWN = 5
KEYS = {"system": str, "when": float | int, "next_xid": int, "next_multi": int, "next_offset": int}


def rates(answer: Answer, before: object) -> dict[str, float]:
    """Ids a second since an earlier answer (the document), by Room.what. StateError: it is none of this cluster's."""
    if not isinstance(before, Mapping) or not all(isinstance(before.get(key), KEYS[key]) for key in KEYS):
        raise StateError("it is no document that pgquern frozen --json has printed")
    state = answer.state
    if before["system"] != state.system:
        raise StateError("it is of another cluster, by its system identifier")
    if (seconds := state.when - before["when"]) <= 0 or before["next_xid"] > state.next_xid:
        raise StateError(
            "it is not earlier than this answer (without a server, the last checkpoint's time counts): give an older"
        )
    taken = {
        "XID": state.next_xid - before["next_xid"],
        "MultiXactId": (state.next_multi - before["next_multi"]) % SIZE,
        "member": (state.next_offset - before["next_offset"]) % SIZE,
    }
    return {what: number / seconds for what, number in taken.items()}


def span(seconds: float) -> str:
    """The largest unit of which there are two."""
    size, unit = next((one for one in SPANS if seconds >= 2 * one[0]), SPANS[-1])
    return f"{seconds / size:,.0f} {unit}"


def verdict(answer: Answer) -> Iterator[str]:
    """One line if all is well."""
    if answer.findings:
        for finding in answer.findings[:TOP]:
            yield f"{finding.kind}: {finding.says}. What to do: {finding.do}."
        if len(answer.findings) > TOP:
            yield f"and {len(answer.findings) - TOP} findings more: --json has them all"
        return
    rest = [f"{room.until['refuses'] // 10**6:,} million {room.what}s" for room in answer.rooms if room.database]
    held = "nothing that is known holds the horizon"
    for one in answer.holders[:1]:
        held = f"the oldest that holds something back is {one.kind} {one.name}, {answer.age(one):,} XIDs old"
    yield f"all is well: {' and '.join(rest)} are left; {held}"


def _rooms(answer: Answer, rate: Mapping[str, float]) -> Iterator[str]:
    yield "left until" + " " * 32 + "".join(f"{words:>26}" for words in UNTIL.values())
    for room in answer.rooms:
        name = f"{room.what}s{', by database ' * bool(room.database)}{room.database}"
        cells = [f"{room.until[key]:,}" if room.until.get(key, -1) >= 0 else "-" if key not in room.until else "now"
                 for key in UNTIL]  # fmt: skip
        yield f"  {name:<40}" + "".join(f"{cell:>26}" for cell in cells)
        if speed := rate.get(room.what):
            times = [span(rest / speed) if (rest := room.until.get(key, -1)) >= 0 else "-" for key in UNTIL]
            yield f"    {f'at {speed:,.1f} a second':<38}" + "".join(f"{time:>26}" for time in times)


def _databases(answer: Answer) -> Iterator[str]:
    state = answer.state
    yield "databases, the oldest first: datfrozenxid, its age, and how many XIDs are left; the same of datminmxid"
    rests = [[left(one.dat[i], state.next_ids[i], KINDS[i][3]) for i in (0, 1)] for one in state.databases]
    ordered = sorted(zip(rests, state.databases, strict=True), key=lambda pair: pair[0][0] or 0)
    for rest, one in ordered[:TOP]:
        line = ""
        for value, of in zip(one.dat, rest, strict=True):
            wrong = f"{'IN THE FUTURE' if of else 'not normal':>27}"
            line += f"  {value:>10} " + (wrong if of is None or of < 0 else f"{SIZE // 2 - 1 - of:>13,} {of:>13,}")
        after = answer.outcomes[one.name].after if one.name in answer.outcomes else None
        moves = f"; a VACUUM there moves them to {after[0]} and {after[1]}" if after and after != one.dat else ""
        yield f"{line}  {one.name}{' (invalid: its DROP DATABASE was broken off; drop it)' * one.invalid}{moves}"
    if len(ordered) > TOP:
        yield f"  and {len(ordered) - TOP} more: --json has all"


def _tables(answer: Answer, kind: int) -> Iterator[str]:
    """One of those of an age in a database, and how many more there are."""
    state, column = answer.state, KINDS[kind][1]
    groups = dict[tuple[int | None, str], list[Relation]]()
    for database in state.databases:
        for at, one in oldest(state, database, kind):
            groups.setdefault((at, database.name), []).append(one)
    if groups:
        yield f"the oldest tables, by {column}:"
    for (at, name), found in sorted(groups.items(), key=lambda row: (row[0][0] is not None, -(row[0][0] or 0)))[:SHOWN]:
        since = "permanent" if at is None else f"IN THE FUTURE by {-at:,}" if at < 0 else f"{at:,}"
        one, more = found[0], f", and {len(found) - 1:,} more as old" if len(found) > 1 else ""
        of = f" of {one.table}" if one.table not in ("", one.name) else ""
        yield f"  {getattr(one, column):>10}  age {since:>13}  {name}: {one.name}{of} (oid {one.oid}){more}"


def lines(answer: Answer, rate: Mapping[str, float]) -> Iterator[str]:
    """All that is said, line by line."""
    state = answer.state
    yield from verdict(answer)
    yield from _rooms(answer, rate)
    if answer.holders:
        yield "who holds something back, the oldest first:"
    for holder in answer.holders[:TOP]:
        yield f"  age {answer.age(holder):>13,}  {holder.kind} {holder.name} ({holder.says})"
        yield f"    to end it: {holder.do}"
    if len(answer.holders) > TOP:
        yield f"  and {len(answer.holders) - TOP} more: --json has all"
    yield from _databases(answer)
    for i in range(len(KINDS)):
        yield from _tables(answer, i)
    yield from (f"not known: {sentence}" for sentence in state.unknown)


def document(answer: Answer, rate: Mapping[str, float]) -> dict[str, Any]:
    """As --since takes it; `tables` has the oldest of each database."""
    state, databases = answer.state, list[dict[str, Any]]()
    for one in state.databases:
        known = answer.outcomes.get(one.name)
        future = {**asdict(known.future[0]), "column": KINDS[known.future[1]][1]} if known and known.future else None
        databases.append(
            {
                **asdict(one),
                "ages": [age(one.dat[i], i, state.next_ids[i]) for i in (0, 1)],
                "minimum": known and known.minimum,
                "after": known and known.after,
                "future": future,
                "relations": len(one.relations),
                "tables": {
                    column: [{**asdict(table), "age": at} for at, table in oldest(state, one, i)[:TOP]]
                    for i, (_, column, _, _) in enumerate(KINDS)
                },
            }
        )
    return {
        "good": not answer.findings,
        "findings": [asdict(one) for one in answer.findings],
        **{key: getattr(state, key) for key in ("system", "major", "when", "next_xid", "next_multi", "next_offset")},
        "time": datetime.fromtimestamp(state.when, UTC).isoformat(),
        "start": state.start,
        "members": state.members,
        "settings": state.settings,
        "left": [asdict(room) for room in answer.rooms],
        "a_second": dict(rate),
        "holders": [{**asdict(one), "age": answer.age(one)} for one in answer.holders],
        "databases": databases,
        "unknown": state.unknown,
    }
