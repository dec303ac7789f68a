# SPDX-License-Identifier: PostgreSQL
"""The snapshot builder of logical decoding, and its arrays of XIDs.

Upstream: src/backend/replication/logical/snapbuild.c (SnapBuildAddCommittedTxn, SnapBuildPurgeOlderTxn,
SnapBuildBuildSnapshot, SnapBuildCommitTxn, SnapBuildProcessRunningXacts, SnapBuildFindSnapshot),
src/backend/access/heap/heapam_visibility.c (HeapTupleSatisfiesHistoricMVCC) and src/backend/storage/ipc/procarray.c
(KnownAssignedXids*), as of PostgreSQL 18.

First the operations on arrays, one line each: they are what the kernels must equal. Then the builder that uses them,
then KnownAssignedXids. XIDs are ints of a ref.xid.Ring, FullTransactionIds ints without bound; time is in milliseconds.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from ref.xid import FIRST_NORMAL, INVALID, XID, Ring, raw_sorted, widen, xid_of


class Code(IntEnum):
    """Why input is refused; the numbers are those of pgq_code."""

    XID_PERMANENT = 20
    UNSORTED = 21
    CAPACITY = 22
    DUPLICATE = 23


class XidArrayError(ValueError):
    """Refused input: `code`, and `index`, the 1-based element at fault (0: none)."""

    def __init__(self, code: Code, index: int) -> None:
        super().__init__(f"{code.name} at element {index}")
        self.code, self.index = code, index


def check_normal(xids: Sequence[int], ring: Ring = XID) -> None:
    """XID_PERMANENT at the first XID that is not a normal one."""
    for i, xid in enumerate(xids, 1):
        if not ring.is_normal(xid):
            raise XidArrayError(Code.XID_PERMANENT, i)


def check_raw_sorted(xids: Sequence[int]) -> None:
    """UNSORTED or DUPLICATE at the first element that is not above the one before it."""
    for i in range(1, len(xids)):
        if xids[i] <= xids[i - 1]:
            raise XidArrayError(Code.DUPLICATE if xids[i] == xids[i - 1] else Code.UNSORTED, i + 1)


# ---- the operations on arrays --------------------------------------------------------------------


def purge(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """Keep x iff it does not precede xmin, in the order given. Nothing is purged while xmin is not a normal XID."""
    check_normal(xip, ring)
    if not ring.is_normal(xmin):
        return list(xip)
    return [x for x in xip if not ring.precedes(x, xmin)]


def purge_sorted(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """The same, of a raw-sorted array without duplicates.

    What is kept is the arc [xmin, xmin + half): as plain numbers one interval, or a prefix and a suffix when the arc
    crosses 0.
    """
    check_normal(xip, ring)
    check_raw_sorted(xip)
    return purge(xip, xmin, ring)


def purge_full(fxip: Sequence[int], full_xmin: int, ring: Ring = XID) -> list[int]:
    """The same, of FullTransactionIds in their order: keep x iff x >= full_xmin.

    Nothing is purged while the XID of full_xmin is permanent.
    """
    check_normal([xid_of(x, ring) for x in fxip], ring)
    check_raw_sorted(fxip)
    if not ring.is_normal(xid_of(full_xmin, ring)):
        return list(fxip)
    return [x for x in fxip if x >= full_xmin]


def append(xip: Sequence[int], batch: Sequence[int], ring: Ring = XID) -> list[int]:
    """SnapBuildAddCommittedTxn for each of the batch: at the end, in the order given."""
    check_normal(batch, ring)
    return [*xip, *batch]


def insert(xip: Sequence[int], batch: Sequence[int], ring: Ring = XID) -> list[int]:
    """The union of a raw-sorted array without duplicates and a batch in any order, as such an array again."""
    check_normal(batch, ring)
    check_raw_sorted(xip)
    return raw_sorted({*xip, *batch})


def snapshot_xip(xip: Iterable[int]) -> list[int]:
    """The array that a snapshot gets: a copy in the order of xidComparator."""
    return raw_sorted(xip)


def snapshot_xip_full(fxip: Iterable[int], ring: Ring = XID) -> list[int]:
    """The same from FullTransactionIds. Their own order, cut down to XIDs, would be a rotation of this one."""
    return raw_sorted(xid_of(x, ring) for x in fxip)


def compress(xids: Sequence[int], valid: Sequence[bool]) -> list[int]:
    """The XIDs whose flag is set, in the order given (the loop of KnownAssignedXidsCompress)."""
    return [x for x, live in zip(xids, valid, strict=True) if live]


# ---- two purges of raw-sorted arrays that upstream does without regard to the ring ---------------


def purge_catchange(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """16 and later, catchange.xip: drop from the front until an XID does not precede xmin; keep the rest."""
    for i, x in enumerate(xip):
        if ring.follows_or_equals(x, xmin):
            return list(xip[i:])
    return []


def purge_initial_running(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """11 to 15, InitialRunningXacts: nothing at all unless the first XID precedes xmin, else purge()."""
    if not xip or not ring.precedes(xip[0], xmin):
        return list(xip)
    return purge(xip, xmin, ring)


# ---- the builder ---------------------------------------------------------------------------------


class State(IntEnum):
    """SnapBuildState."""

    START = -1
    BUILDING_SNAPSHOT = 0
    FULL_SNAPSHOT = 1
    CONSISTENT = 2


@dataclass(frozen=True)
class Snapshot:
    """A historic catalog snapshot (SNAPSHOT_HISTORIC_MVCC); xip is raw-sorted. Never changed once built."""

    xmin: int
    xmax: int
    xip: tuple[int, ...]
    ring: Ring = XID

    def sees(self, xid: int, did_commit: Callable[[int], bool]) -> bool:
        """Is what `xid` did to the catalogs visible? did_commit (TransactionIdDidCommit) is asked below xmin only."""
        if self.ring.precedes(xid, self.xmin):
            return did_commit(xid)
        if not self.ring.precedes(xid, self.xmax):
            return False
        i = bisect_left(self.xip, xid)
        return i < len(self.xip) and self.xip[i] == xid


@dataclass
class SnapBuild:
    """struct SnapBuild, as far as XIDs go.

    committed: committed.xip, in commit order, subtransactions before their top one. catchange: catchange.xip,
    raw-sorted, filled only by restore(). xmax is one past the newest tracked XID, and may lie below xmin.
    """

    ring: Ring = XID
    building_full_snapshot: bool = False
    initial_xmin_horizon: int = INVALID
    state: State = State.START
    xmin: int = INVALID
    xmax: int = INVALID
    next_phase_at: int = INVALID
    includes_all_transactions: bool = True
    committed: list[int] = field(default_factory=list)
    catchange: list[int] = field(default_factory=list)

    def commit_txn(
        self, xid: int, subxids: Sequence[int] = (), changed: Collection[int] = (), has_invals: bool = False
    ) -> Snapshot | None:
        """SnapBuildCommitTxn. The new snapshot, if one is due.

        changed: the XIDs that the reorder buffer saw changing a catalog. has_invals: XACT_XINFO_HAS_INVALS.
        """
        if self.state == State.START:
            return None
        if self.state == State.BUILDING_SNAPSHOT and self.ring.precedes(xid, self.next_phase_at):
            return None

        everything = self.building_full_snapshot and self.state < State.CONSISTENT
        catalog = {x for x in (*subxids, xid) if x in changed or (has_invals and x in self.catchange)}
        tracked = [x for x in subxids if everything or x in catalog]
        if not (tracked or everything or xid in catalog):
            self.includes_all_transactions = False
            return None

        tracked.append(xid)
        self._track(tracked)
        newest = xid
        for x in tracked:
            if self.ring.follows(x, newest):
                newest = x
        if self.xmax == INVALID or self.ring.follows_or_equals(newest, self.xmax):
            self.xmax = self.ring.advance(newest)
        return self.build_snapshot() if catalog and self.state >= State.FULL_SNAPSHOT else None

    def build_snapshot(self) -> Snapshot:
        """SnapBuildBuildSnapshot; from FULL_SNAPSHOT on."""
        return Snapshot(self.xmin, self.xmax, tuple(snapshot_xip(self.committed)), self.ring)

    def running_xacts(
        self, oldest_running_xid: int, next_xid: int, in_progress: Collection[int] = ()
    ) -> "SnapBuild | None":
        """SnapBuildProcessRunningXacts. The serialised builder, if one is written: before xmin moves and the purge.

        in_progress: the transactions under way that the reorder buffer saw changing a catalog.
        """
        serialised = None
        if self.state == State.CONSISTENT:
            serialised = self.serialize(in_progress)
        elif not self._find_snapshot(oldest_running_xid, next_xid):
            return None
        self.xmin = oldest_running_xid
        self.purge_older_txn()
        return serialised

    def purge_older_txn(self) -> None:
        """SnapBuildPurgeOlderTxn."""
        if not self.ring.is_normal(self.xmin):
            return
        self._purge_committed()
        self.catchange = purge_catchange(self.catchange, self.xmin, self.ring)

    def serialize(self, in_progress: Collection[int]) -> "SnapBuild":
        """SnapBuildSerialize: what the .snap file holds."""
        return replace(self, committed=list(self.committed), catchange=raw_sorted(in_progress))

    def restore(self, serialised: "SnapBuild") -> bool:
        """SnapBuildRestore: go on from a .snap file, unless it is older than the horizon. Was it used?"""
        if self.ring.precedes(serialised.xmin, self.initial_xmin_horizon):
            return False
        self.state, self.next_phase_at = State.CONSISTENT, INVALID
        self.xmin, self.xmax = serialised.xmin, serialised.xmax
        self.committed, self.catchange = list(serialised.committed), list(serialised.catchange)
        return True

    def _track(self, xids: Sequence[int]) -> None:
        self.committed = append(self.committed, xids, self.ring)

    def _purge_committed(self) -> None:
        self.committed = purge(self.committed, self.xmin, self.ring)

    def _find_snapshot(self, oldest_running_xid: int, next_xid: int) -> bool:
        """SnapBuildFindSnapshot, but for restoring a file: a step towards CONSISTENT. Is there a point in purging?"""
        if self.ring.precedes(oldest_running_xid, self.initial_xmin_horizon):
            return True
        if oldest_running_xid == next_xid:
            self.state, self.next_phase_at = State.CONSISTENT, INVALID
            self.xmin = self.xmax = next_xid
            return False
        if self.state == State.START:
            self.state, self.next_phase_at = State.BUILDING_SNAPSHOT, next_xid
            self.xmin = self.xmax = next_xid
        elif self.ring.precedes_or_equals(self.next_phase_at, oldest_running_xid):
            self.state = State(self.state + 1)
            self.next_phase_at = next_xid if self.state < State.CONSISTENT else INVALID
        return True


@dataclass
class SnapBuildFull(SnapBuild):
    """The same with FullTransactionIds, sorted, in committed: as good as XIDs that never wrap.

    next_full: the next FullTransactionId to be assigned, to be kept up to date; all XIDs lie at most a ring behind it.
    """

    next_full: int = FIRST_NORMAL

    def build_snapshot(self) -> Snapshot:
        return Snapshot(self.xmin, self.xmax, tuple(snapshot_xip_full(self.committed, self.ring)), self.ring)

    def _track(self, xids: Sequence[int]) -> None:
        check_normal(xids, self.ring)
        self.committed = sorted({*self.committed, *(widen(x, self.next_full, self.ring) for x in xids)})

    def _purge_committed(self) -> None:
        self.committed = purge_full(self.committed, widen(self.xmin, self.next_full, self.ring), self.ring)


# ---- KnownAssignedXids ---------------------------------------------------------------------------


class Reason(IntEnum):
    """KAXCompressReason (16 and later)."""

    NO_SPACE = 0
    PRUNE = 1
    TRANSACTION_END = 2
    STARTUP_PROCESS_IDLE = 3


COMPRESS_FREQUENCY = 128
COMPRESS_IDLE_INTERVAL = 1000


@dataclass
class KnownAssigned:
    """KnownAssignedXids of a standby: XIDs in the order of precedes, each with a flag that it is still running.

    The used part is [tail, head) of `capacity` entries; num counts the flags that are set. Removal only clears a flag;
    compress() closes the gaps when it finds it worth while.
    """

    capacity: int
    ring: Ring = XID
    xids: list[int] = field(default_factory=list)
    valid: list[bool] = field(default_factory=list)
    tail: int = 0
    head: int = 0
    num: int = 0
    transaction_ends: int = 0
    last_compress: int = 0

    def __post_init__(self) -> None:
        self.xids = [INVALID] * self.capacity
        self.valid = [False] * self.capacity

    def get(self, xmax: int = INVALID) -> list[int]:
        """KnownAssignedXidsGet: the live XIDs, up to the first that is not before xmax (if that is a valid XID)."""
        live = compress(self.xids[self.tail : self.head], self.valid[self.tail : self.head])
        if xmax == INVALID:
            return live
        return live[: next((i for i, x in enumerate(live) if self.ring.follows_or_equals(x, xmax)), len(live))]

    def add(self, from_xid: int, to_xid: int, now: int) -> None:
        """KnownAssignedXidsAdd: from_xid to to_xid, which must follow all that are there.

        XID_PERMANENT; UNSORTED (2: to_xid precedes from_xid; 1: from_xid precedes the last entry), DUPLICATE (it is the
        last entry); CAPACITY. The array is compressed before it is found to be too small.
        """
        check_normal([from_xid, to_xid], self.ring)
        if self.ring.precedes(to_xid, from_xid):
            raise XidArrayError(Code.UNSORTED, 2)
        if self.head > self.tail:
            last = self.xids[self.head - 1]
            if self.ring.follows_or_equals(last, from_xid):
                raise XidArrayError(Code.DUPLICATE if last == from_xid else Code.UNSORTED, 1)
        n = to_xid - from_xid + 1 if to_xid >= from_xid else to_xid - from_xid + 1 + self.ring.size - FIRST_NORMAL
        if self.head + n > self.capacity:
            self.compress(Reason.NO_SPACE, now)
            if self.head + n > self.capacity:
                raise XidArrayError(Code.CAPACITY, 0)
        xid = from_xid
        for _ in range(n):
            self.xids[self.head], self.valid[self.head] = xid, True
            self.head += 1
            xid = self.ring.advance(xid)
        self.num += n

    def search(self, xid: int) -> bool:
        """KnownAssignedXidExists."""
        return self._find(xid) is not None

    def remove(self, xid: int) -> bool:
        """KnownAssignedXidsRemove: clear the flag; at the tail, move over all that are cleared. Was it there?"""
        i = self._find(xid)
        if i is None:
            return False
        self.valid[i] = False
        self.num -= 1
        if i == self.tail:
            self._advance_tail()
        return True

    def remove_tree(self, xid: int, subxids: Iterable[int], now: int) -> None:
        """KnownAssignedXidsRemoveTree: a transaction has ended."""
        for x in (xid, *subxids):
            self.remove(x)
        self.compress(Reason.TRANSACTION_END, now)

    def remove_preceding(self, xid: int, now: int, prepared: Collection[int] = ()) -> None:
        """KnownAssignedXidsRemovePreceding: all that precede xid, but for the prepared ones; all, if xid is invalid."""
        if xid == INVALID:
            self.tail = self.head = self.num = 0
            return
        for i in range(self.tail, self.head):
            if self.valid[i]:
                if self.ring.follows_or_equals(self.xids[i], xid):
                    break
                if self.xids[i] not in prepared:
                    self.valid[i] = False
                    self.num -= 1
        self._advance_tail()
        self.compress(Reason.PRUNE, now)

    def compress(self, reason: Reason, now: int) -> bool:
        """KnownAssignedXidsCompress: close the gaps, if `reason` finds it worth while. Was it done?"""
        span = self.head - self.tail
        if span == self.num:
            if reason != Reason.NO_SPACE:
                return False
        elif reason == Reason.TRANSACTION_END:
            turn = self.transaction_ends % COMPRESS_FREQUENCY
            self.transaction_ends += 1
            if turn != 0 or span < 2 * self.num:
                return False
        elif reason == Reason.STARTUP_PROCESS_IDLE and 0 < self.last_compress > now - COMPRESS_IDLE_INTERVAL:
            return False
        live = self.get()
        self.xids[: len(live)], self.valid[: len(live)] = live, [True] * len(live)
        self.tail, self.head = 0, len(live)
        self.last_compress = now
        return True

    def _find(self, xid: int) -> int | None:
        """Where xid is, if it is live."""
        return next((i for i in range(self.tail, self.head) if self.xids[i] == xid and self.valid[i]), None)

    def _advance_tail(self) -> None:
        while self.tail < self.head and not self.valid[self.tail]:
            self.tail += 1
        if self.tail == self.head:
            self.tail = self.head = 0
