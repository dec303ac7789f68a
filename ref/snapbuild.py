# SPDX-License-Identifier: PostgreSQL
"""The snapshot builder of logical decoding, and its arrays of XIDs.

Upstream: src/backend/replication/logical/snapbuild.c, SnapBuildAddCommittedTxn, SnapBuildPurgeOlderTxn,
SnapBuildPurgeCommittedTxn, SnapBuildBuildSnapshot, SnapBuildCommitTxn, SnapBuildProcessRunningXacts,
SnapBuildFindSnapshot, SnapBuildSerialize, SnapBuildRestore; src/backend/access/heap/heapam_visibility.c,
HeapTupleSatisfiesHistoricMVCC; src/backend/storage/ipc/procarray.c, KnownAssignedXidsAdd, KnownAssignedXidsCompress,
KnownAssignedXidsSearch, KnownAssignedXidExists, KnownAssignedXidsRemove, KnownAssignedXidsRemoveTree,
KnownAssignedXidsRemovePreceding, KnownAssignedXidsGetAndSetXmin, KnownAssignedXidsGetOldestXmin. As of PostgreSQL 18.

First come the operations on arrays, one line each: the kernels must give the same results. Then comes the builder that
uses them, then KnownAssignedXids. An XID is an int of a ref.xid.Ring. A FullTransactionId is an int without bound. Time
is in milliseconds.
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
    """Keep x if and only if it does not precede xmin. The order stays. If xmin is not a normal XID, keep all."""
    check_normal(xip, ring)
    if not ring.is_normal(xmin):
        return list(xip)
    return [x for x in xip if not ring.precedes(x, xmin)]


def purge_sorted(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """As purge(), for a raw-sorted array without duplicates.

    The XIDs of the arc [xmin, xmin + half) stay. As plain numbers the arc is one interval. If it crosses 0, it is a
    prefix and a suffix of the array.
    """
    check_normal(xip, ring)
    check_raw_sorted(xip)
    return purge(xip, xmin, ring)


def purge_full(fxip: Sequence[int], full_xmin: int, ring: Ring = XID) -> list[int]:
    """As purge(), for sorted FullTransactionIds: keep x if and only if x >= full_xmin.

    If the XID of full_xmin is permanent, keep all.
    """
    check_normal([xid_of(x, ring) for x in fxip], ring)
    check_raw_sorted(fxip)
    if not ring.is_normal(xid_of(full_xmin, ring)):
        return list(fxip)
    return [x for x in fxip if x >= full_xmin]


def append(xip: Sequence[int], batch: Sequence[int], ring: Ring = XID) -> list[int]:
    """SnapBuildAddCommittedTxn for each XID of the batch: it is added at the end."""
    check_normal(batch, ring)
    return [*xip, *batch]


def insert(xip: Sequence[int], batch: Sequence[int], ring: Ring = XID) -> list[int]:
    """The union, raw-sorted without duplicates. xip must be raw-sorted without duplicates; the batch has any order."""
    check_normal(batch, ring)
    check_raw_sorted(xip)
    return raw_sorted({*xip, *batch})


def snapshot_xip(xip: Iterable[int]) -> list[int]:
    """The array that a snapshot gets: a copy in the order of xidComparator."""
    return raw_sorted(xip)


def snapshot_xip_full(fxip: Iterable[int], ring: Ring = XID) -> list[int]:
    """As snapshot_xip(), from FullTransactionIds. Their own order, seen as XIDs, is a rotation of this order."""
    return raw_sorted(xid_of(x, ring) for x in fxip)


def compress(xids: Sequence[int], valid: Sequence[bool]) -> list[int]:
    """The XIDs whose flag is set, in the order given (the loop of KnownAssignedXidsCompress)."""
    return [x for x, live in zip(xids, valid, strict=True) if live]


# ---- two purges in which upstream takes the raw order for the order on the ring -----------------


def purge_catchange(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """catchange.xip in 16 and later: drop XIDs from the front up to the first that does not precede xmin."""
    for i, x in enumerate(xip):
        if ring.follows_or_equals(x, xmin):
            return list(xip[i:])
    return []


def purge_initial_running(xip: Sequence[int], xmin: int, ring: Ring = XID) -> list[int]:
    """InitialRunningXacts in 11 to 15: purge() if the first XID precedes xmin; otherwise keep all."""
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
    """A historic catalog snapshot (SNAPSHOT_HISTORIC_MVCC); xip is raw-sorted. It never changes."""

    xmin: int
    xmax: int
    xip: tuple[int, ...]
    ring: Ring = XID

    def sees(self, xid: int, did_commit: Callable[[int], bool]) -> bool:
        """Are the catalog changes of `xid` visible? did_commit (TransactionIdDidCommit) is called only below xmin."""
        if self.ring.precedes(xid, self.xmin):
            return did_commit(xid)
        if not self.ring.precedes(xid, self.xmax):
            return False
        i = bisect_left(self.xip, xid)
        return i < len(self.xip) and self.xip[i] == xid


@dataclass
class SnapBuild:
    """The fields of struct SnapBuild that concern XIDs.

    committed: committed.xip in commit order; subtransactions stand before their top-level transaction. catchange:
    catchange.xip, raw-sorted; only restore() fills it. xmax: one past the newest tracked XID; it may precede xmin.
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
        """SnapBuildCommitTxn. Returns the new snapshot if one must be built, otherwise None.

        changed: XIDs that the reorder buffer has marked as changing a catalog. has_invals: XACT_XINFO_HAS_INVALS.
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
        """SnapBuildBuildSnapshot. The state must be FULL_SNAPSHOT or later."""
        return Snapshot(self.xmin, self.xmax, tuple(snapshot_xip(self.committed)), self.ring)

    def running_xacts(
        self, oldest_running_xid: int, next_xid: int, in_progress: Collection[int] = ()
    ) -> "SnapBuild | None":
        """SnapBuildProcessRunningXacts. Returns the serialised builder if one is written, otherwise None.

        It is serialised before xmin moves and before the purge. in_progress: transactions in progress that the reorder
        buffer has marked as changing a catalog.
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
        """SnapBuildSerialize: the contents of the .snap file."""
        return replace(self, committed=list(self.committed), catchange=raw_sorted(in_progress))

    def restore(self, serialised: "SnapBuild") -> bool:
        """SnapBuildRestore: continue from a .snap file. False: the file is older than the horizon; nothing changes."""
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
        """SnapBuildFindSnapshot, without restoring a file: a step towards CONSISTENT. Returns whether to purge next."""
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
    """SnapBuild with sorted FullTransactionIds in committed. FullTransactionIds do not wrap.

    next_full: the next FullTransactionId to be assigned. The caller keeps it up to date. Every XID lies at most a ring
    behind it.
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
    """KnownAssignedXids of a standby: XIDs in the order of precedes. A flag says of each whether it is still running.

    The used part is [tail, head) of `capacity` entries. num is the number of flags that are set. Removal only clears a
    flag. compress() closes the gaps when there are enough of them.
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
        """KnownAssignedXidsGet: the live XIDs up to the first that does not precede xmax; all, if xmax is INVALID."""
        live = compress(self.xids[self.tail : self.head], self.valid[self.tail : self.head])
        if xmax == INVALID:
            return live
        return live[: next((i for i, x in enumerate(live) if self.ring.follows_or_equals(x, xmax)), len(live))]

    def add(self, from_xid: int, to_xid: int, now: int) -> None:
        """KnownAssignedXidsAdd: adds from_xid to to_xid, which must follow all entries.

        XID_PERMANENT; UNSORTED (2: to_xid precedes from_xid; 1: from_xid precedes the last entry); DUPLICATE (from_xid
        is the last entry); CAPACITY (they do not fit even after the array was compressed).
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
        """KnownAssignedXidsRemove: clear the flag. At the tail, skip all cleared entries. False: xid was not there."""
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
        """KnownAssignedXidsRemovePreceding: remove all that precede xid and are not prepared. INVALID: remove all."""
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
        """KnownAssignedXidsCompress: close the gaps if the rule for `reason` says so. Returns whether it did."""
        span = self.head - self.tail
        if span == self.num:
            if reason != Reason.NO_SPACE:
                return False
        elif reason == Reason.TRANSACTION_END:
            turn = self.transaction_ends % COMPRESS_FREQUENCY
            self.transaction_ends += 1
            if turn != 0 or span < 2 * self.num:
                return False
        elif reason == Reason.STARTUP_PROCESS_IDLE and 0 != self.last_compress > now - COMPRESS_IDLE_INTERVAL:
            return False
        live = self.get()
        self.xids[: len(live)], self.valid[: len(live)] = live, [True] * len(live)
        self.tail, self.head = 0, len(live)
        self.last_compress = now
        return True

    def _find(self, xid: int) -> int | None:
        """The place of xid, or None if it is not live."""
        return next((i for i in range(self.tail, self.head) if self.xids[i] == xid and self.valid[i]), None)

    def _advance_tail(self) -> None:
        while self.tail < self.head and not self.valid[self.tail]:
            self.tail += 1
        if self.tail == self.head:
            self.tail = self.head = 0
