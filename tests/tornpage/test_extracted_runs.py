# SPDX-License-Identifier: PostgreSQL
"""The proved steps of a store beside the definition and the C store: lives over several checkpoints, with operations
that fail, kills and power losses, also in recovery, several in a row.

The program that is extracted from the proofs makes each step. It says which operation comes next, refuses what the
proof does not let a fault leave, and says what the page is.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random

import pytest
from _pgquern import lib
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pgquern import PgquernError

from ref import tornpage as ref
from ref.tornpage import File, Protection
from tests.common.tally import tally
from tests.tornpage import proved
from tests.tornpage.crash import Operation
from tests.tornpage.proved import OPERATIONS, Said, Session, found, masked
from tests.tornpage.worlds import Opener, Oracle, Shape, kernel

SHAPES = {
    "images": Shape(Protection.IMAGES, pages=1),
    "images, other pages": Shape(Protection.IMAGES),
    "double write": Shape(Protection.DOUBLE_WRITE, pages=1, slots=1),
    "atomic": Shape(Protection.ATOMIC, pages=1),
    "atomic, other pages": Shape(Protection.ATOMIC),
}
OPENERS: dict[str, Opener] = {"definition": Oracle, "C": kernel}
WRITE_LOG, SYNC_LOG, SYNC_DATA = (
    OPERATIONS.index(operation) for operation in (("write", File.LOG), ("sync", File.LOG), ("sync", File.DATA))
)
PAGE = 0
"""The proof's page; the others are elsewhere."""


class Twins:
    """A store on a device with faults, and the proof's one, step by step."""

    def __init__(self, shape: Shape, open_store: Opener, rng: Random) -> None:
        self.shape, self.open_store, self.rng = shape, open_store, rng
        self.device = shape.device()
        self.store = open_store(shape, self)
        self.store.format()
        self.ends: list[int] = []
        """Where the records end in the log, marks left out."""
        self.recovers = False
        self.session = Session(shape, masked(self.store.page(PAGE)))
        self.said: Said = self.session.event(proved.ASK)
        self.seen: Counter[str] = Counter()

    # -- the device, which each process opens anew --

    def read(self, file: int, at: int, size: int) -> bytes:
        return self.device.read(file, at, size)

    def write(self, file: int, at: int, data: bytes) -> None:
        self.device.write(file, at, data)

    def sync(self, file: int) -> None:
        self.device.sync(file)

    # -- the proof's steps --

    def hear(self, said: Said) -> None:
        assert said.allowed, "the files hold what the proof says no fault leaves"
        self.said = said

    def tell(self, what: int) -> None:
        self.hear(self.session.event(what))

    def see(self, what: int) -> None:
        """What can be read after a fault."""
        seen = found(self.shape, self.device, PAGE)
        self.hear(self.session.told(what, bisect_right(self.ends, seen.redo), seen, PAGE))

    @property
    def next(self) -> int | None:
        return next(iter(self.session.operations), None)

    def comes(self, operation: Operation) -> bool:
        """Whether the proof has this operation next. It also syncs the log with nothing to flush, and a data file that
        was not written. A mark's way to the log, another page's to its place, and that of an area with no copy that is
        whole are no part of it.
        """
        kind = OPERATIONS.index((operation[0], File(operation[1])))
        in_log = operation[1] == File.LOG
        idle = () if in_log else (SYNC_LOG,) if self.recovers and operation[1] == File.AREA else (SYNC_LOG, SYNC_DATA)
        match operation:
            case ("write", File.DATA, at, _) if at != PAGE * self.shape.block_size:
                return False
        while self.next != kind and self.next in idle:
            self.session.works()
        its = self.next == kind
        assert its or in_log or (self.recovers and operation[1] == File.AREA), "the store does what the proof does not"
        return its

    def works(self, operation: Operation) -> None:
        if self.comes(operation):
            self.session.works()
            while self.next == WRITE_LOG:  # the records that the store writes at once
                self.session.works()

    def fails(self, operation: Operation) -> None:
        """It lands in part, and the process ends. Of records that are written at once any part may land."""
        if operation[0] == "write" and operation[1] == File.LOG:
            self.works(operation)
            self.tell(proved.DIES)
        else:
            self.tell(proved.FAILS if self.comes(operation) else proved.DIES)
        self.device = self.device.interrupted(operation, self.rng)
        self.see(proved.READS)

    # -- calls --

    def runs(self, call: Callable[[], None], stop: int) -> bool:
        """The operation of this number fails. True: there was none of that number."""
        stopped, number = list[Operation](), count()

        def before(operation: Operation) -> None:
            if not stopped and operation[0] != "read":
                if next(number) == stop:
                    stopped.append(operation)
                else:
                    self.works(operation)
            if stopped:
                raise OSError(5, "Input/output error")

        self.device.before = before
        try:
            call()
        except (PgquernError, OSError):
            if not stopped:
                raise
        finally:
            self.device.before = None
        if stopped:
            self.seen["stopped in recovery" if self.recovers else "stopped in a call"] += 1
            self.fails(stopped[0])
            return False
        while self.next is not None:
            assert self.next in (SYNC_LOG, SYNC_DATA), "the store leaves out a write"
            self.session.works()
        self.tell(proved.ASK)
        self.compare()
        return True

    def compare(self) -> None:
        assert masked(self.store.page(PAGE)) == self.said.page
        assert self.said.promised <= self.said.records == self.said.made == len(self.ends)

    def change(self, stop: int) -> bool:
        """Of any page; or a checkpoint, if the log has no room."""
        promised = self.said.promised
        page, size, rng = self.rng.randrange(self.shape.pages), self.shape.block_size, self.rng
        length = rng.choice([1, 8, 100, size // 2, size - ref.PAGE_HEADER])
        offset = rng.randrange(ref.PAGE_HEADER, size - length + 1)
        data = rng.randbytes(length)
        try:
            self.store.change(page, offset, data)
        except PgquernError as refusal:
            if refusal.code != lib.PGQ_TORNPAGE_LOG_FULL:
                raise
            return self.begin(stop) and self.end(stop)
        self.ends.append(ref.page_lsn(self.store.page(page)))
        if page == PAGE:
            self.hear(self.session.change(offset, data, self.ends[-1]))
        else:
            self.tell(proved.ELSEWHERE)
        self.compare()
        assert self.said.promised == promised
        return True

    def begin(self, _: int) -> bool:
        self.store.checkpoint_begin()
        self.tell(proved.BEGIN)
        return True

    def end(self, stop: int) -> bool:
        self.tell(proved.END)
        self.seen["checkpoints"] += 1
        return self.runs(self.store.checkpoint_end, stop) and self.all_promised()

    def flush(self, stop: int) -> bool:
        self.tell(proved.FLUSH)
        return self.runs(self.store.flush, stop) and self.all_promised()

    def all_promised(self) -> bool:
        assert self.said.promised == len(self.ends)
        return True

    def write_back(self, stop: int) -> bool:
        """A page of another's record: its log first, which the proof leaves to a flush."""
        if self.shape.pages > 1 and not self.flush(stop):
            return False
        self.tell(proved.WRITE_BACK)
        return self.runs(lambda: self.store.write_back(range(self.shape.pages)), stop)

    def life(self, calls: int, most: int) -> None:
        """Some calls, until an operation fails: one of the next `most` ones in a call."""
        choices = [self.change, self.flush, self.write_back, self.begin, self.end]
        for call in self.rng.choices(choices, [10, 3, 4, 1, 2], k=calls):
            stop = self.rng.randrange(most)
            if not call(stop):
                return

    def fault(self) -> None:
        """The process is killed, or the power fails; what the kernel has forgotten may be read anew."""
        fate = self.rng.randrange(5)
        if fate < 2:
            self.device = self.device.killed(self.rng)
            self.seen["kills"] += 1
        elif fate < 4:
            self.device = self.device.power_loss(self.rng)
            self.seen["power losses"] += 1
            self.see(proved.LOSES_POWER)
            return
        else:
            self.device.evict(self.rng)
        self.tell(proved.DIES)
        self.see(proved.READS)

    def recover(self, stop: int) -> bool:
        """A new process. False: it was stopped."""
        self.store = self.open_store(self.shape, self)
        self.tell(proved.RECOVER)
        made, self.recovers = self.ends, True
        self.ends = made[: self.said.records]
        ended = self.runs(self.store.recover, stop) and self.all_promised()
        self.recovers = False
        if not ended:
            self.ends = made
        return ended


@pytest.mark.parametrize("open_store", OPENERS.values(), ids=OPENERS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@settings(max_examples=settings().max_examples // 25)
@given(seed=st.integers(0, 2**32))
def test_each_life_is_a_run_of_the_proof(shape: Shape, open_store: Opener, seed: int) -> None:
    """Whatever fails, and however often recovery is stopped: the store makes the proof's operations in their order,
    what a fault leaves is what the proof lets it leave, and the page is the proof's, also what is promised."""
    twins = Twins(shape, open_store, Random(seed))
    rng = twins.rng
    for _ in range(6):
        twins.life(rng.randrange(24), most=rng.choice([4, 40, 400]))
        for most in [*(rng.randrange(1, 16) for _ in range(rng.randrange(4))), None]:
            twins.fault()
            if twins.recover(10**6 if most is None else rng.randrange(most)):
                break
    twins.session.close()
    for what, number in twins.seen.items():
        tally("tornpage", f"{what} beside the proof", number)
        event(what)


ONE_PAGE = [shape for shape in SHAPES.values() if shape.pages == 1]


@pytest.mark.parametrize("shape", ONE_PAGE, ids=[shape.protection.name for shape in ONE_PAGE])
def test_what_no_fault_leaves_is_refused(shape: Shape) -> None:
    """A log without what a flush has promised; a record, a page, a copy and a control file that nobody wrote. The same
    contents are let pass if nothing of them is changed."""
    twins = Twins(shape, Oracle, Random(1))
    endless = 10**6
    for call in (twins.change, twins.write_back, twins.change, twins.flush):
        assert call(endless)
    right = found(shape, twins.device, PAGE)
    (first, end), *rest = right.records
    other = bytes(len(right.place) - 1) + b"x"
    wrong = {
        "the last record is lost": right._replace(records=right.records[:-1]),
        "the log is empty": right._replace(records=[]),
        "other bytes in a record": right._replace(records=[(first._replace(data=bytes(len(first.data))), end), *rest]),
        "another epoch": right._replace(epoch=right.epoch + 1),
        "another page": right._replace(place=other),
        "another copy": right._replace(copy=other),
    }
    for what, contents in wrong.items():
        said = twins.session.told(proved.LOSES_POWER, 0, contents, PAGE)
        assert not said.allowed, what
        assert said.runs, what
    assert not twins.session.told(proved.LOSES_POWER, 1, right, PAGE).allowed
    assert twins.session.told(proved.LOSES_POWER, 0, right, PAGE) == twins.said._replace(runs=False)
    twins.session.close()
