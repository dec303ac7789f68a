# SPDX-License-Identifier: PostgreSQL
"""The logs of the C prefetcher and of the engine, given to the trace model: each event in its order.

That the definition has the same logs is shown by test_kernels.py. TLC accepts each log whole. It refuses a log with one
event altered, at this event.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pgquern.prefetch import Step
from pgquern.prefetch import replay as run_engine

from ref.prefetch import COUNTERS, BlockReference, Event, Record, Relation
from tests.common.tally import tally
from tests.prefetch import tla
from tests.prefetch.files import files
from tests.prefetch.kernel import KernelPrefetcher
from tests.prefetch.random_world import BLOCKS, RELATIONS, random_world
from tests.prefetch.tlc import JAR, Lines, altered, follow
from tests.prefetch.world import Seen, World, replay
from tools.trace.listing import Listed, Replay

WORLDS, RECORDS = 10, 24
LENGTHS = dict(zip(RELATIONS, (3, BLOCKS, None, 1), strict=True))
"""Of all worlds, with the pool and the room, so that one run follows them all."""
POOL, ROOM = 2, 3
CONCURRENCIES = (0, 1, 2, 3, 8)
FILES, ACCESSES, BUFFERS = [5, 7], 60, 9
TELLS = [*(word for word in COUNTERS if word != "prefetch"), "advise", "other_fork", "use", "concurrency"]

Events = list[dict[str, Any]]


def listed(records: Sequence[Record]) -> list[Listed]:
    """With what `World` does to each block."""
    return [
        Listed(
            record,
            "",
            tuple(Replay.INIT if ref.has_image or ref.will_init else Replay.READ for ref in record.blocks),
            drops=(),
            length=0,
        )
        for record in records
    ]


# ---- prefetchers ---------------------------------------------------------------------------------


def event(what: Event) -> dict[str, Any]:
    page = [tla.name(what.reference.relation), what.reference.block]
    if what.buffer is not None:
        return {"call": what.what, "page": page, "buffer": what.buffer + 1}
    return {"call": "advise" if what.what == "prefetch" else what.what, "page": page}


def events_of(seen: Seen) -> Events:
    """The log in the model's words."""
    found, used = list[dict[str, Any]](), 0
    for entry in seen.log:
        if isinstance(entry, Event):
            found.append(event(entry))
        elif isinstance(entry, Record):
            used += 1
            found.append({"call": "use", "record": used})
        else:
            found.append({"call": "concurrency", "to": entry})
    return found


def world_of(seed: int) -> World:
    world = random_world(RECORDS, seed)
    world.sizes = {relation: size for relation, size in LENGTHS.items() if size is not None}
    world.pool, world.room = POOL, ROOM
    return world


def log_of(seed: int, corners: set[str]) -> Lines:
    """A world's trace; the concurrency changes half way."""
    first, then = random.Random(seed).sample(CONCURRENCIES, 2)
    world = world_of(seed)
    late = list(world.lateness)
    head = tla.head(listed(world.records), LENGTHS, tells=TELLS, concurrency=first, buffers=POOL, room=ROOM, late=late)
    head["lengths"] = dict.fromkeys(head["lengths"], BLOCKS)
    events = events_of(replay(world, first, make=KernelPrefetcher, changes={RECORDS // 2: then}))
    corners |= world.corners | {item["call"] for item in events}
    return [head, *events]


# ---- the engine ----------------------------------------------------------------------------------


def engine_log(folder: Path, concurrency: int) -> Lines:
    """A job of the variant `advise`: each access is a record of one block."""
    dice = random.Random(concurrency)
    accesses = [(file, dice.randrange(FILES[file])) for file in dice.choices(range(len(FILES)), k=ACCESSES)]
    relations = [Relation(0, 0, file) for file in range(len(FILES))]
    records = [Record(i + 1, i + 2, (BlockReference(relations[f], block),)) for i, (f, block) in enumerate(accesses)]
    with files(folder, FILES) as fds:
        done = run_engine(fds, accesses, concurrency=concurrency, buffers=BUFFERS, variant="advise", log=True)

    def told(step: Step) -> dict[str, Any]:
        file, block = accesses[step.access]
        if step.what == "use":
            return {"call": "use", "record": step.access + 1}
        return {"call": step.what, "page": [tla.name(relations[file]), block]}

    sizes = dict(zip(relations, FILES, strict=True))
    tells = ["advise", "read", "use"]
    head = tla.head(
        listed(records), sizes, tells=tells, concurrency=concurrency, buffers=BUFFERS, room=ACCESSES, late=[]
    )
    head["lengths"] = {tla.name(relation): size for relation, size in sizes.items()}
    return [head, *map(told, done.steps)]


# ---- altered logs --------------------------------------------------------------------------------


def dropped(events: Events, dice: random.Random) -> tuple[Events, int]:
    at = dice.choice([i for i in range(len(events) - 1) if events[i] != events[i + 1]])
    return events[:at] + events[at + 1 :], at + 1


def swapped(events: Events, dice: random.Random) -> tuple[Events, int]:
    at = dice.choice([i for i in range(len(events) - 1) if events[i] != events[i + 1]])
    return [*events[:at], events[at + 1], events[at], *events[at + 2 :]], at + 1


def twice(events: Events, dice: random.Random) -> tuple[Events, int]:
    at = dice.choice([i for i in range(len(events) - 1) if events[i] != events[i + 1]])
    return [*events[: at + 1], *events[at:]], at + 2


def misjudged(events: Events, dice: random.Random) -> tuple[Events, int]:
    """An advise becomes a repeat, any other verdict an advise."""
    at = dice.choice([i for i, item in enumerate(events) if "page" in item and item["call"] != "read"])
    other = "skip_rep" if events[at]["call"] == "advise" else "advise"
    return [*events[:at], {"call": other, "page": events[at]["page"]}, *events[at + 1 :]], at + 1


def other_block(events: Events, dice: random.Random) -> tuple[Events, int]:
    at = dice.choice([i for i, item in enumerate(events) if "page" in item])
    relation, block = events[at]["page"]
    return [*events[:at], events[at] | {"page": [relation, (block + 1) % 5]}, *events[at + 1 :]], at + 1


def other_buffer(events: Events, dice: random.Random) -> tuple[Events, int]:
    at = dice.choice([i for i, item in enumerate(events) if "buffer" in item])
    return [*events[:at], events[at] | {"buffer": 3 - events[at]["buffer"]}, *events[at + 1 :]], at + 1


ALTERATIONS = (dropped, swapped, twice, misjudged, other_block)


def with_altered(logs: dict[str, Lines], *more: Callable[..., tuple[Events, int]]) -> dict[str, Lines]:
    """The logs, and after them each alteration of one of those that have all sorts of events."""
    dice = random.Random(1)
    rich = [log for log in logs.values() if len({item["call"] for item in log[1:]}) > 2]
    found = dict(logs)
    for alter in (*ALTERATIONS, *more):
        log = dice.choice([log for log in rich if alter is not other_buffer or any("buffer" in e for e in log[1:])])
        found[alter.__name__] = altered(log, *alter(log[1:], dice))
    return found


# ---- the verdicts --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corners() -> set[str]:
    """What came up in the worlds."""
    return set()


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory, corners: set[str]) -> dict[str, dict[str, Lines]]:
    worlds = {f"kernel{seed}": log_of(seed, corners) for seed in range(WORLDS)}
    folder = tmp_path_factory.mktemp("files")
    engine = {f"concurrency{n}": engine_log(folder, n) for n in (0, 1, 3, 8)}
    whole = worlds["kernel0"]
    return {
        "Worlds": with_altered(worlds, other_buffer),
        "Engine": with_altered(engine),
        "Unaltered": {"log": altered(whole, whole[1:], 5)},
    }


@pytest.fixture(scope="module")
def followed(
    tmp_path_factory: pytest.TempPathFactory, traces: dict[str, dict[str, Lines]]
) -> dict[str, dict[str, Any]]:
    if not JAR.is_file():
        pytest.skip(f"no {JAR}: run `make setup`")
    return follow(tmp_path_factory.mktemp("followed"), traces)


@pytest.mark.parametrize("run", ["Worlds", "Engine"])
def test_each_log_is_accepted_and_each_altered_one_refused(
    followed: dict[str, dict[str, Any]], traces: dict[str, dict[str, Lines]], run: str
) -> None:
    item, events = followed[run], sum(len(log) - 1 for log in traces[run].values() if log[0]["wrong"] == 0)
    assert item["result"] == "success", item["reason"] or item["property"]
    assert item["distinct"] > events
    tally("prefetch", "events of logs followed by the model", events)


def test_a_whole_log_is_not_refused(followed: dict[str, dict[str, Any]]) -> None:
    """The check can fail: a log that is said to be altered, and is not."""
    assert followed["Unaltered"]["property"] == "deadlock"


def test_the_worlds_reach_every_corner(traces: dict[str, dict[str, Lines]], corners: set[str]) -> None:
    assert traces
    assert corners >= {*TELLS, "WAL is late", "no room to decode", "stale hint", "block lost", "references forgotten"}
