# SPDX-License-Identifier: PostgreSQL
"""A recorded recovery as TraceRecoveryPrefetch.tla reads it: JSON lines, the WAL and then an event a line."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ref.prefetch import MAIN_FORK, BlockReference, Effect, Relation
from tools.trace.listing import Listed, Replay
from tools.trace.record import Recorded
from tools.trace.strace import Call

EFFECTS = {
    Effect.CREATE: "create",
    Effect.TRUNCATE: "truncate",
    Effect.CREATE_DATABASE: "database",
    Effect.TIMELINE: "timeline",
}


def name(relation: Relation) -> str:
    """A name of a relation that TLA+ allows as a field."""
    return f"r{relation.tablespace}_{relation.database}_{relation.number}"


def how(reference: BlockReference, replay: Replay) -> str:
    """SequentialReplay's word for what replay does."""
    if reference.fork != MAIN_FORK:
        return "fork"
    if replay is Replay.NOTHING:
        return "hint"
    if replay is Replay.READ and reference.has_image:
        raise ValueError("the model has no full page images that are only compared (wal_consistency_checking)")
    return "image" if reference.has_image else "init" if replay is Replay.INIT else "read"


def record_of(listed: Listed, relations: Collection[Relation]) -> dict[str, Any]:
    """A record. relations: all that there are. ValueError if the model cannot express it."""
    record = listed.record
    effect = "drop" if listed.drops else EFFECTS.get(record.effect, "none")
    own = [record.relation] if record.effect in (Effect.CREATE, Effect.TRUNCATE) else []
    if record.effect is Effect.CREATE_DATABASE:
        own = [relation for relation in relations if relation.database == record.relation.database]
    return {
        "refs": [
            {"page": [name(reference.relation), reference.block], "how": how(reference, replay)}
            for reference, replay in zip(record.blocks, listed.replays, strict=True)
            if reference.in_use
        ],
        "effect": effect,
        "relations": [name(relation) for relation in [*own, *listed.drops]],
        "to": record.block,
    }


def head(records: Sequence[Listed], sizes: Mapping[Relation, int | None], **more: Any) -> dict[str, Any]:
    """The first line. sizes: of all relations at the start; None: it does not exist. more: what its sort has."""
    lengths = dict.fromkeys(sorted(sizes), 0)
    for reference in (reference for listed in records for reference in listed.record.blocks):
        lengths[reference.relation] = max(lengths[reference.relation], reference.block + 1)
    return {
        **more,
        "sizes": {name(relation): size for relation, size in sorted(sizes.items()) if size is not None},
        "databases": {name(relation): f"d{relation.database}" for relation in lengths},
        "lengths": {name(relation): length for relation, length in lengths.items()},
        "wal": [record_of(listed, sizes) for listed in records],
        "evicts": False,
        "wrong": 0,
    }


def lines(run: Recorded) -> list[dict[str, Any]]:
    """The head, with the WAL, and the events. ValueError if there is something that the model cannot express."""
    records, trace = run.records(), run.calls()
    if any(listed.record.effect is Effect.CREATE_DATABASE for listed in records):
        raise ValueError("a listing does not say which relations the database that is copied has")
    if len(run.concurrencies) > 1:
        raise ValueError("the trace does not say between which records the concurrency has changed")
    named = {relation for listed in records for relation in (*listed.drops, *_relations(listed))}
    first = head(
        records,
        {relation: trace.sizes.get(relation) for relation in named},
        server=run.build.version(),
        tells=["advise", "read"],
        concurrency=run.concurrencies[0],
        room=len(records),
        late=[],
    ) | {"evicts": run.evicts, "again": again(trace.calls)}
    # Where pages leave buffers, the model takes a new one for each page that is read again.
    first["buffers"] = sum(first["lengths"].values()) + run.evicts * len(trace.calls)
    return [first, *map(event, trace.calls)]


def again(calls: Sequence[Call]) -> int:
    """The number of the first call for a page that was read before; 0 if there is none."""
    read = set[tuple[Relation, int]]()
    for number, call in enumerate(calls, 1):
        if (call.relation, call.block) in read:
            return number
        if call.what == "read":
            read.add((call.relation, call.block))
    return 0


def event(call: Call) -> dict[str, Any]:
    return {"call": call.what, "page": [name(call.relation), call.block]}


def _relations(listed: Listed) -> set[Relation]:
    named = {reference.relation for reference in listed.record.blocks}
    if listed.record.effect in (Effect.CREATE, Effect.TRUNCATE):
        named.add(listed.record.relation)
    return named
