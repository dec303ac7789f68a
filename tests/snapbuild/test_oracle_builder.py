# SPDX-License-Identifier: PostgreSQL
"""The whole builder over time: oracle, kernels and the extracted proof side by side, across the wrap again and again.

The machine plays a server: transactions begin, change catalogs, commit and abort; running-xacts records move xmin and
purge; now and then the XIDs jump ahead as far as live ones allow. It keeps what really happened on XIDs that never
wrap, and holds every snapshot against that.
"""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pgquern.snapbuild import Committed, CommittedFull, variants

from ref.snapbuild import SnapBuild, SnapBuildFull, Snapshot, State
from ref.xid import FIRST_NORMAL, XID, full, widen, xid_of
from tests.common.tally import tally
from tests.snapbuild.extracted import PROGRAM, Extracted, Op
from tests.snapbuild.strategies import HALF

MARGIN = 1_000_000
AHEAD = st.sampled_from([HALF, HALF, HALF // 4, 1000, 1])


@dataclass
class Transaction:
    """In progress. full_xids: its subtransactions', then its own; all catalog changes are made by some of them."""

    full_xids: list[int]
    changed: set[int] = field(default_factory=set)


class NeverPurged(SnapBuildFull):
    """A builder that keeps all XIDs that it ever tracked."""

    def _purge_committed(self) -> None:
        pass


class KernelBuilder:
    """committed.xip by one choice of variants."""

    def __init__(self, insert: str, purge: str, sorted_purge: str, snapshot: str) -> None:
        self.names = (insert, purge, sorted_purge, snapshot)
        self.committed = Committed()

    def insert(self, batch: list[int], consistent: bool) -> None:
        self.committed.reserve(len(batch))
        self.committed.insert(batch, consistent=consistent, variant=self.names[0])

    def purge(self, xmin: int) -> None:
        if self.committed.sorted:
            self.committed.purge_sorted(xmin, variant=self.names[2])
        else:
            self.committed.purge(xmin, variant=self.names[1])

    def snapshot(self) -> list[int]:
        return self.committed.snapshot(variant=self.names[3])


def choices() -> list[tuple[str, str, str, str]]:
    """Every variant of every kind at least once, upstream's all together."""
    kinds = ("insert", "purge", "purge_sorted", "snapshot")
    table = {kind: [v.name for v in variants(kind) if v.supported] for kind in kinds}
    rows = max(len(names) for names in table.values()) + 1
    return [
        (names["insert"], names["purge"], names["purge_sorted"], names["snapshot"])
        for i in range(rows)
        for names in [{kind: found[(i if i < len(found) else i + 1) % len(found)] for kind, found in table.items()}]
    ]


class Server(RuleBasedStateMachine):
    """One server being decoded."""

    @initialize(
        epoch=st.integers(0, 2),
        xid=st.one_of(st.integers(XID.size - 200, XID.size - 1), st.integers(FIRST_NORMAL, XID.size - 1)),
        everything=st.booleans(),
        nsubxids=st.lists(st.integers(0, 2), max_size=3),
    )
    def start(self, epoch: int, xid: int, everything: bool, nsubxids: list[int]) -> None:
        """A slot is created, while len(nsubxids) transactions run."""
        self.next_full = full(epoch + 1, xid)
        self.running: list[Transaction] = []
        self.xmin_full = self.xmax_full = self.next_full
        self.committed_full: set[int] = set()  # all that ever committed
        self.catalog_full: set[int] = set()  # those of them that changed a catalog, with their top ones
        self.builder = SnapBuild(building_full_snapshot=everything)
        self.full_builder = SnapBuildFull(building_full_snapshot=everything, next_full=self.next_full)
        self.unpurged = NeverPurged(building_full_snapshot=everything, next_full=self.next_full)
        self.kernels = [KernelBuilder(*names) for names in choices()]
        self.full_kernels = {v.name: CommittedFull(capacity=8) for v in variants("purge_full")}
        self.extracted = Extracted()
        self.snapshots: list[tuple[Snapshot, frozenset[int]]] = []
        self.begin(nsubxids, 0)
        self.running_xacts()

    # What the transactions do.

    def take_xid(self) -> int:
        taken = self.next_full
        self.next_full = full(self.next_full >> 32, xid_of(taken) + 1)
        if not XID.is_normal(xid_of(self.next_full)):
            self.next_full = full(self.next_full >> 32, FIRST_NORMAL)
            tally("snapbuild", "wraps")
        return taken

    def oldest_running(self) -> int:
        return min((x for t in self.running for x in t.full_xids), default=self.next_full)

    @rule(nsubxids=st.lists(st.sampled_from([0, 0, 1, 2, 5, 20]), min_size=1, max_size=6), change=st.integers(0, 63))
    def begin(self, nsubxids: list[int], change: int) -> None:
        """A few transactions; those whose bit is set in `change` change a catalog, in one of their subtransactions."""
        for i, n in enumerate(nsubxids):
            top = self.take_xid()
            transaction = Transaction([*(self.take_xid() for _ in range(n)), top])
            if change >> i & 1:
                transaction.changed.add(transaction.full_xids[change % (n + 1)])
            self.running.append(transaction)

    @precondition(lambda self: self.running)
    @rule(place=st.integers(0, 99))
    def abort(self, place: int) -> None:
        self.running.pop(place % len(self.running))

    @precondition(lambda self: self.running)
    @rule(places=st.lists(st.integers(0, 99), min_size=1, max_size=6), record=st.integers(0, 3), ahead=AHEAD)
    def commit(self, places: list[int], record: int, ahead: int) -> None:
        """A few commit; in a quarter of the cases a running-xacts record follows, and XIDs go by."""
        for place in places[: len(self.running)]:
            self.decode_commit(self.running.pop(place % len(self.running)))
        if record == 0:
            self.running_xacts()
            self.time_passes(ahead)

    @rule(ahead=AHEAD)
    def time_passes(self, ahead: int) -> None:
        """As many XIDs are used up as fit into half the ring with all that is live: XIDs, xmin and xmax."""
        oldest = min([self.oldest_running(), self.xmin_full, self.xmax_full, *self.full_builder.committed])
        ahead = min(ahead, oldest + HALF - MARGIN - self.next_full)
        if ahead > 0:
            before, self.next_full = self.next_full, self.next_full + ahead
            if not XID.is_normal(xid_of(self.next_full)):
                self.next_full = full(self.next_full >> 32, FIRST_NORMAL)
            tally("snapbuild", "wraps", (self.next_full >> 32) - (before >> 32))

    # What the decoder makes of it.

    def decode_commit(self, transaction: Transaction) -> None:
        *subxids, xid = [xid_of(x) for x in transaction.full_xids]
        changed = {xid_of(x) for x in transaction.changed}
        state, held = self.builder.state, len(self.builder.committed)
        self.full_builder.next_full = self.unpurged.next_full = self.next_full

        self.committed_full |= set(transaction.full_xids)
        if transaction.changed:
            self.catalog_full |= transaction.changed | {transaction.full_xids[-1]}
        snapshot = self.builder.commit_txn(xid, subxids, changed)
        full_snapshot = self.full_builder.commit_txn(xid, subxids, changed)
        assert snapshot == full_snapshot
        assert (self.unpurged.commit_txn(xid, subxids, changed) is None) == (snapshot is None)

        batch = self.builder.committed[held:]
        if batch:
            self.xmax_full = widen(self.builder.xmax, self.next_full + 1)
        for kernel in self.kernels:
            kernel.insert(batch, state == State.CONSISTENT)
        full_batch = [widen(x, self.next_full) for x in batch]
        for name, kernel_full in self.full_kernels.items():
            self.full_kernels[name] = kernel_full = roomy(kernel_full, len(full_batch))
            kernel_full.insert(full_batch)
        self.extracted.expect(sorted(self.builder.committed), Op.INSERT, sorted(self.builder.committed[:held]), batch)
        if snapshot is not None:
            assert all(kernel.snapshot() == list(snapshot.xip) for kernel in self.kernels)
            assert all(kernel.snapshot() == list(snapshot.xip) for kernel in self.full_kernels.values())
            self.snapshots.append((snapshot, frozenset(self.builder.committed)))
            if state == State.CONSISTENT:
                self.judge(snapshot)

    @rule()
    def running_xacts(self) -> None:
        held = list(self.builder.committed)
        full_held = list(self.full_builder.committed)
        self.full_builder.next_full = self.unpurged.next_full = self.next_full
        record = xid_of(self.oldest_running()), xid_of(self.next_full)
        serialised = self.builder.running_xacts(*record)
        self.full_builder.running_xacts(*record)
        self.unpurged.running_xacts(*record)
        if serialised is not None:
            assert serialised.committed == held
        if not XID.is_normal(self.builder.xmin):
            return
        if serialised is None:
            self.xmax_full = widen(self.builder.xmax, self.next_full + 1)
        self.xmin_full = widen(self.builder.xmin, self.next_full)

        xmin = self.builder.xmin
        if self.builder.committed != held or serialised is not None:
            for kernel in self.kernels:
                kernel.purge(xmin)
            for name, kernel_full in self.full_kernels.items():
                kernel_full.purge(self.xmin_full, variant=name)
            self.extracted.expect(self.builder.committed, Op.PURGE, held, xmin=xmin)
            self.extracted.expect(sorted(self.builder.committed), Op.PURGE_SORTED, sorted(held), xmin=xmin)
            self.extracted.expect(self.full_builder.committed, Op.PURGE_FULL, full_held, xmin=self.xmin_full)
            tally("snapbuild", "purges")
            if 0 < len(self.builder.committed) < len(held):
                tally("snapbuild", "purges that keep some and drop some")

    # What must hold.

    def judge(self, snapshot: Snapshot) -> None:
        """It sees exactly the catalog changes committed so far, and the purged XIDs change no answer."""
        reach = sorted(xid_of(x) for x in self.unpurged.committed if x > self.next_full - HALF)
        unpurged = Snapshot(snapshot.xmin, snapshot.xmax, tuple(reach))
        assert set(snapshot.xip) <= set(reach)
        tally("snapbuild", "snapshots judged")
        for x in self.witnesses():
            committed = x in self.committed_full
            sees = snapshot.sees(xid_of(x), lambda _xid, committed=committed: committed)  # type: ignore[misc]
            assert sees == unpurged.sees(xid_of(x), lambda _xid, committed=committed: committed)  # type: ignore[misc]
            if x < self.xmin_full:
                assert sees == committed
            elif x in self.catalog_full or not committed:
                assert sees == (x in self.catalog_full)

    def witnesses(self) -> list[int]:
        """Some XIDs that lie within half the ring of all live ones."""
        live = [x for t in self.running for x in t.full_xids]
        past = [x for x in self.committed_full if x > self.next_full - HALF]
        return sorted([*live, *past])[-200:]

    @invariant()
    def all_hold_the_same(self) -> None:
        if not hasattr(self, "builder"):
            return
        held = set(self.builder.committed)
        for kernel in self.kernels:
            assert set(kernel.committed.xip) == held, kernel.names
            assert not kernel.committed.sorted or kernel.committed.xip == sorted(held), kernel.names
        fulls = sorted(widen(x, self.next_full) for x in held)
        assert self.full_builder.committed == fulls
        for name, kernel_full in self.full_kernels.items():
            assert kernel_full.fxip == fulls, name
        tally("snapbuild", "steps")

    def teardown(self) -> None:
        """Snapshots that were handed out never change, and the extracted proof gave the same answers."""
        for snapshot, held in getattr(self, "snapshots", []):
            assert set(snapshot.xip) == held
        if PROGRAM.exists() and hasattr(self, "extracted"):
            tally("snapbuild", "answers of the extracted proof", self.extracted.check())


def roomy(committed: CommittedFull, m: int) -> CommittedFull:
    """The same with room for m more, at least twice what is live: so the head moves, and goes back now and then."""
    live = committed.fxip
    if len(live) + m <= committed.capacity:
        return committed
    return CommittedFull(live, capacity=2 * (len(live) + m))


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_steps(seed: int) -> None:
    """The same machine with many random steps: Hypothesis would need an hour to reach these states."""
    rng, server = Random(seed), Server()
    xid, running = rng.randrange(FIRST_NORMAL, XID.size), [0] * (seed % 3)
    server.start(epoch=0, xid=xid, everything=seed % 2 == 0, nsubxids=running)
    for _ in range(400):
        if len(server.running) < 30:
            server.begin([rng.choice([0, 0, 1, 3, 20]) for _ in range(rng.randrange(1, 7))], rng.randrange(64))
        places = [rng.randrange(len(server.running)) for _ in range(5)]
        server.commit(places, rng.randrange(4), rng.choice([1, 1, 1, 1000, HALF]))
        if server.running and rng.random() < 0.2:
            server.abort(rng.randrange(9))
        if rng.random() < 0.05:
            server.commit([0] * len(server.running), 0, HALF)
            server.time_passes(HALF)
        server.all_hold_the_same()
    server.teardown()


TestServer = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")(Server.TestCase)
# Not shrunk, which takes minutes here: the steps of a failure are printed as they were.
TestServer.settings = settings(max_examples=30, stateful_step_count=150, phases=(Phase.explicit, Phase.generate))
