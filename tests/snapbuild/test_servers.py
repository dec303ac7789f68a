# SPDX-License-Identifier: PostgreSQL
"""The snapshot builder against real servers: 13, 15 and 18 (embedded) and Debian's 15; also across the wrap.

Overlapping transactions and subtransactions change catalogs; a running-xacts record after each round makes the builder
purge. Its committed.xip is rebuilt from what it says of each commit, by ref.snapbuild, and held against the .snap file
that it writes before each purge: the whole array, in its order. About 40 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest
from pgquern import snapbuild as kernels

from ref import snapbuild
from ref.xid import INVALID, XID
from tests.common.tally import tally
from tests.postgres.server import DEBIAN, EMBEDDED, Build, Server
from tests.postgres.wrap import move_next_to_wrap
from tests.snapbuild.decoding import (
    Commit,
    Phase,
    Purge,
    Snap,
    decode,
    events,
    read_snap,
    run_relay,
    run_slot_creation,
    run_workload,
)

pytestmark = [pytest.mark.servers, pytest.mark.claim3]

SETTINGS: dict[str, str | int] = {"wal_level": "logical"}
ROUNDS, SESSIONS, SEED = 130, 12, 3
XIDS_BEFORE_WRAP = 196  # of the 550 that the workload takes: its longest overlaps then lie across
PURGES_FLOOR = 100


@dataclass(frozen=True)
class Observed:
    """One purge on a real server: the builder's message, the array before it as rebuilt, and the file written then."""

    purge: Purge
    rebuilt: list[int]
    after: list[int]
    xmax: int
    snap: Snap


@cache
def observe(build: Build, wrap: bool) -> list[Observed]:
    with Server(build, settings=SETTINGS) as server:
        if wrap:
            move_next_to_wrap(server, XIDS_BEFORE_WRAP)
        run_workload(server, rounds=ROUNDS, sessions=SESSIONS, seed=SEED)
        builder = snapbuild.SnapBuild(state=snapbuild.State.CONSISTENT)
        observed = []
        for event in events(decode(server)):
            if isinstance(event, Commit):
                builder.commit_txn(event.xid, event.subxids, event.changed)
            elif isinstance(event, Purge):
                rebuilt = list(builder.committed)
                assert event.snap is not None
                snap = read_snap(server, event.snap, event.before)
                # The oldest running XID of the record is the xmin by which it purges.
                builder.running_xacts(event.xmin, event.xmin)
                observed.append(Observed(event, rebuilt, list(builder.committed), builder.xmax, snap))
        return observed


RUNS = [(EMBEDDED[13], False), (EMBEDDED[15], False), (EMBEDDED[18], False), (EMBEDDED[15], True), (EMBEDDED[18], True)]
# A .snap file of 16 or 17 does not tell where committed.xip ends, and Debian 13 has 17.
RUNS += [(DEBIAN, False)] if DEBIAN.major not in (16, 17) else []
per_run = pytest.mark.parametrize(
    ("build", "wrap"), RUNS, ids=[f"{build.label}{' across the wrap' if wrap else ''}" for build, wrap in RUNS]
)


def across(xip: list[int]) -> bool:
    """Whether an array has XIDs on both sides of the wrap."""
    return bool(xip) and max(xip) - min(xip) > XID.half


@per_run
def test_every_purge_equals_the_oracle(build: Build, wrap: bool) -> None:
    observed = observe(build, wrap)
    assert len(observed) >= PURGES_FLOOR
    for seen in observed:
        assert (seen.purge.before, seen.purge.after) == (len(seen.rebuilt), len(seen.after))
        assert seen.snap.committed == seen.rebuilt
        assert len(set(seen.rebuilt)) == len(seen.rebuilt)
        assert seen.after == snapbuild.purge(seen.rebuilt, seen.purge.xmin)
    # What a purge leaves is what the next file begins with: the purged array itself, not only its count.
    for seen, later in pairwise(observed):
        assert later.snap.committed[: seen.purge.after] == seen.after
    tally("snapbuild", "purges of real servers", len(observed))


@per_run
def test_xmin_and_xmax_equal_the_oracle(build: Build, wrap: bool) -> None:
    """From the first commit on: before it the builder's xmax comes from a record that it does not name."""
    known = [seen for seen in observe(build, wrap) if seen.xmax != INVALID]
    assert len(known) >= PURGES_FLOOR
    assert all(seen.purge.xmax == seen.xmax for seen in known)
    if build.major >= 18:
        assert all(seen.snap.xmax == seen.xmax for seen in known)
        # The file has the xmin of the record before.
        assert all(b.snap.xmin == a.purge.xmin for a, b in pairwise(known))


@per_run
def test_the_purges_are_worth_looking_at(build: Build, wrap: bool) -> None:
    observed = observe(build, wrap)
    partial = [seen for seen in observed if 0 < seen.purge.after < seen.purge.before]
    assert len(partial) >= 25
    assert max(seen.purge.before for seen in observed) >= 20
    if wrap:
        spanning = [seen for seen in partial if across(seen.rebuilt)]
        assert len(spanning) >= 3
        # One lower bound in the raw-sorted array would keep too little here.
        wrong = [sorted(x for x in seen.rebuilt if x >= seen.purge.xmin) for seen in spanning]
        assert any(kept != sorted(seen.after) for kept, seen in zip(wrong, spanning, strict=True))


@per_run
@pytest.mark.parametrize("kind", ["purge", "purge_sorted"])
def test_every_kernel_purges_as_the_server(build: Build, wrap: bool, kind: str) -> None:
    ran = 0
    for variant in kernels.variants(kind):
        if not variant.supported:
            continue
        for seen in observe(build, wrap):
            is_sorted = kind == "purge_sorted"
            array = kernels.Committed(sorted(seen.rebuilt) if is_sorted else seen.rebuilt, sorted=is_sorted)
            getattr(array, kind)(seen.purge.xmin, variant=variant.name)
            assert array.xip == (sorted(seen.after) if is_sorted else seen.after), variant.name
            ran += 1
    assert ran
    tally("snapbuild", "kernel purges against real servers", ran)


# ---- before CONSISTENT, with a full snapshot -----------------------------------------------------


@pytest.mark.parametrize("build", [EMBEDDED[13], DEBIAN, EMBEDDED[18]], ids=lambda build: build.label)
def test_a_full_snapshot_is_built_as_by_the_oracle(build: Build) -> None:
    """A slot is created while transactions run: each step to CONSISTENT, and each purge on the way.

    No file is written before CONSISTENT, so the purges are compared by their counts, xmin and xmax.
    """
    with Server(build, settings=SETTINGS) as server:
        messages = run_slot_creation(server, sessions=SESSIONS, seed=SEED)
    builder = snapbuild.SnapBuild(building_full_snapshot=True)
    phases, purges, plain = [], [], 0
    next_phase_at: int | None = None
    for event in events(messages):
        if isinstance(event, Phase):
            phases.append(event)
            next_phase_at = event.next_phase_at
            if next_phase_at == 0:
                break
        elif isinstance(event, Commit):
            before = len(builder.committed)
            builder.commit_txn(event.xid, event.subxids, event.changed)
            assert len(builder.committed) == before + 1 + len(event.subxids)
            plain += not event.changed
        elif isinstance(event, Purge):
            # A record names its next XID only when it brings a new phase; otherwise any later one will do.
            before = len(builder.committed)
            builder.running_xacts(event.xmin, next_phase_at or XID.advance(event.xmin + SESSIONS))
            assert (event.before, event.after) == (before, len(builder.committed))
            assert (event.xmin, event.xmax) == (builder.xmin, builder.xmax)
            assert builder.next_phase_at == phases[-1].next_phase_at
            assert builder.state == snapbuild.State(len(phases) - 1)
            purges.append(event)
            next_phase_at = None
    assert len(phases) == 3
    assert len(purges) >= 10
    assert plain >= 5, "transactions that changed no catalog are kept too"
    assert any(purge.after < purge.before for purge in purges)
    tally("snapbuild", "purges of real servers", len(purges))


# ---- the arrays restored from a file -------------------------------------------------------------

RELAY_BUILDS = [EMBEDDED[13], DEBIAN, EMBEDDED[16], EMBEDDED[18]]
XIDS_BEFORE_RELAY_WRAP = 14


@pytest.mark.parametrize("wrap", [False, True], ids=["within the ring", "across the wrap"])
@pytest.mark.parametrize("build", RELAY_BUILDS, ids=lambda build: build.label)
def test_the_purge_of_restored_xids(build: Build, wrap: bool) -> None:
    """catchange.xip of 16 and later, InitialRunningXacts before: each purge leaves what its oracle leaves.

    Within the ring that is the filter. Across the wrap it is not: 16 and later stop at the first XID in raw order that
    does not precede xmin, earlier ones leave at once if that first one does not; XIDs that should go stay.
    """
    with Server(build, settings=SETTINGS) as server:
        if wrap:
            move_next_to_wrap(server, XIDS_BEFORE_RELAY_WRAP)
        relay = run_relay(server, across=wrap)
        restored = read_snap(server, relay.restored, 0).catchange if build.major >= 18 else None
    changed, oldest_running = list(relay.xids[:4]), relay.xids[1:]
    assert restored in (None, sorted(changed))
    upstream = snapbuild.purge_catchange if build.major >= 16 else snapbuild.purge_initial_running

    array, stale, told = sorted(changed), 0, []
    for xmin in oldest_running:
        left, right = upstream(array, xmin), snapbuild.purge(array, xmin)
        # Before 16 a purge that leaves early says nothing.
        if left != array or build.major >= 16:
            told.append((len(array), len(left), xmin))
        assert set(left) >= set(right), "safe: nothing that is still needed goes"
        stale += left != right
        array = left
    assert [(purge.before, purge.after, purge.xmin) for purge in relay.purges] == told
    assert stale == ((3 if build.major >= 16 else 2) if wrap else 0)
    assert across(changed) == wrap
    assert array == []
    tally("snapbuild", "purges of restored XIDs on real servers", len(relay.purges))
