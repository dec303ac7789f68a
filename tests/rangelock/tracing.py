# SPDX-License-Identifier: PostgreSQL
"""Logs of the C lock, as traces for the model: spec/rangelock/TraceRangelock.tla says what each field is.

python -m tests.rangelock.tracing      records spec/rangelock/traces anew
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from _pgquern import lib
from pgquern import PgquernError
from pgquern.rangelock import Event, Hold, RangeLock

from tools.common.recordings import SUFFIX, save

TRACES = Path(__file__).parents[2] / "spec" / "rangelock" / "traces"
BYTES = 24


def steps(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events without the grants, each with the tickets that it granted."""
    found: list[dict[str, Any]] = []
    for e in events:
        if e.what == "grant":
            found[-1]["granted"].append(e.ticket)
        else:
            found.append(e._asdict() | {"granted": []})
    return found


def some_range(rng: Random) -> tuple[int, int]:
    """Offset and length, now and then of the whole file."""
    if rng.random() < 0.1:
        return 0, BYTES
    offset = rng.randrange(BYTES)
    return offset, rng.randint(1, min(6, BYTES - offset))


def record_alone(seed: int, calls: int) -> list[Event]:
    """One thread, which requests more than it can have at once."""
    rng, lock = Random(seed), RangeLock(variant="interval")
    present: list[Hold] = []
    lock.log(10 * calls)
    for _ in range(calls):
        if len(present) < 8 and rng.random() < 0.5:
            present.append(Hold())
            lock.request(present[-1], *some_range(rng), exclusive=rng.random() < 0.5)
        elif rng.random() < 0.2:
            hold = Hold()
            if lock.try_lock(hold, *some_range(rng), exclusive=rng.random() < 0.5):
                lock.unlock(hold)
        elif present:
            leave(lock, present.pop(rng.randrange(len(present))), rng)
    while present:
        leave(lock, present.pop(), rng)
    events = lock.events()
    lock.close()
    return events


def leave(lock: RangeLock, hold: Hold, rng: Random) -> None:
    if lock.is_held(hold):
        lock.unlock(hold)
    elif rng.random() < 0.5:
        lock.cancel(hold)
    else:
        try:
            lock.wait(hold, 0)
        except PgquernError as error:
            if error.code != lib.PGQ_RANGELOCK_TIMEOUT:
                raise


def record_threads(seed: int, threads: int, calls: int) -> list[Event]:
    """Threads that lock, with time limits and without, and try."""
    lock = RangeLock(variant="interval")
    lock.log(10 * threads * calls)
    start = threading.Barrier(threads)

    def work(number: int) -> None:
        rng, hold = Random(seed * threads + number), Hold()
        start.wait()
        for _ in range(calls):
            span, exclusive, seconds = some_range(rng), rng.random() < 0.5, rng.choice([None, None, 0.0001])
            try:
                if rng.random() < 0.2:
                    if not lock.try_lock(hold, *span, exclusive=exclusive):
                        continue
                else:
                    lock.lock(hold, *span, exclusive=exclusive, seconds=seconds)
            except PgquernError as error:
                if error.code != lib.PGQ_RANGELOCK_TIMEOUT:
                    raise
            else:
                time.sleep(rng.choice([0, 0.001]))
                lock.unlock(hold)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    events = lock.events()
    lock.close()
    return events


def write(name: str, events: Sequence[Event]) -> None:
    """What it is of, then the steps."""
    save(TRACES / f"{name}{SUFFIX}", [{"lock": "csrc/rangelock/interval.c"}, *steps(events)])


if __name__ == "__main__":
    write("alone", record_alone(1, 300))
    write("threads", record_threads(1, 8, 30))
