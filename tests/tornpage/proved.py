# SPDX-License-Identifier: PostgreSQL
"""The extracted program, and files after a fault as the proofs see them."""

import struct
import subprocess
from itertools import takewhile
from typing import NamedTuple
from zlib import crc32

import pytest

from ref import tornpage as ref
from ref.tornpage import File, Protection
from tests.common.extraction import program
from tests.tornpage.crash import Device
from tests.tornpage.worlds import Shape

PROGRAM = program("tornpage")
OPERATIONS = (
    ("write", File.CONTROL),
    ("sync", File.CONTROL),
    ("write", File.LOG),
    ("sync", File.LOG),
    ("write", File.AREA),
    ("sync", File.AREA),
    ("write", File.DATA),
    ("sync", File.DATA),
)
"""What the program's numbers of operations mean."""


def built() -> None:
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not built: run `make oracle`")


def masked(page: bytes) -> bytes:
    """The page as the checksum sees it: pd_checksum is zero."""
    return page[:8] + bytes(2) + page[10:]


def whole_records(store: ref.Store) -> list[tuple[int, ref.Record, int]]:
    """Epoch, record and end of the records from the redo point on: all that are whole, of whatever epoch."""
    found, lsn = [], store.durable_redo
    while lsn + ref.RECORD.size <= store.durable_redo + store.config.log_capacity:
        crc, length, at, epoch, page, offset, kind, life = ref.RECORD.unpack(store._bytes(lsn, ref.RECORD.size))
        end = lsn + ref.RECORD.size + length + -length % 8
        if at != lsn or life != store.life & 0xFFFFFFFF or end > store.durable_redo + store.config.log_capacity:
            break
        body = store._bytes(lsn, end - lsn)
        if crc32(body[4:]) != crc:
            break
        found.append((epoch, ref.Record(page, offset, kind, body[ref.RECORD.size : ref.RECORD.size + length]), end))
        lsn = end
    return found


def loaded(shape: Shape, device: Device) -> ref.Store:
    """The files after a fault, read and not yet replayed."""
    store = ref.Store(shape.config(), device)
    control = store._read_control()
    assert control is not None
    store.durable_redo, store.epoch, store.life = control.redo, control.epoch, control.life
    store.log[:] = device.read(File.LOG, 0, store.config.log_capacity)
    size = shape.block_size
    for number, content in enumerate(store.pages):
        content[:] = device.read(File.DATA, number * size, size)
    return store


class Found(NamedTuple):
    """What a recovery would read, as the proof's world has it."""

    redo: int
    """The redo point in the log, as a position."""
    epoch: int
    records: list[tuple[ref.Record, int]]
    """Those of the epoch from the redo point on, without marks; and where each ends."""
    place: bytes
    copy: bytes


def found(shape: Shape, device: Device, page: int) -> Found:
    store = loaded(shape, device)
    of_epoch = takewhile(lambda whole: whole[0] == store.epoch, whole_records(store))
    records = [(record, end) for _, record, end in of_epoch if record.kind != ref.MARK]
    copies = store._read_area()[1] if shape.protection is Protection.DOUBLE_WRITE else {}
    place, copy = bytes(store.pages[page]), copies.get(page, b"")
    return Found(store.durable_redo, store.epoch, records, masked(place), masked(copy) if copy else b"")


CHANGE, ELSEWHERE, FLUSH, WRITE_BACK, BEGIN, END, WORKS, FAILS, DIES, RECOVER, LOSES_POWER, READS, STOP, ASK = range(14)
"""The program's events."""
IN_MEMORY = 8
"""What the program says of an operation that is none on a file."""


class Said(NamedTuple):
    """What the program says of the store after an event."""

    allowed: bool
    runs: bool
    records: int
    promised: int
    made: int
    page: bytes


class Session:
    """The proved steps of a store, one page of it; the program answers each event, but not each operation."""

    HEAD = struct.Struct("<BBIIII")

    def __init__(self, shape: Shape, empty: bytes) -> None:
        built()
        self.size = shape.block_size
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.operations: list[int] = []
        """What the call that runs still does on files, or in memory."""
        self._send(struct.pack("<BII", 5, shape.protection, self.size) + empty)

    def _send(self, what: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(what)

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        answer = self.process.stdout.read(size)
        assert len(answer) == size, "the program has ended"
        return answer

    def _said(self) -> Said:
        assert self.process.stdin is not None
        self.process.stdin.flush()
        answer = self._read(self.HEAD.size + self.size)
        allowed, runs, operations, records, promised, made = self.HEAD.unpack_from(answer)
        self.operations = list(self._read(operations))
        return Said(bool(allowed), bool(runs), records, promised, made, masked(answer[self.HEAD.size :]))

    def event(self, what: int) -> Said:
        self._send(bytes([what]))
        return self._said()

    def works(self) -> None:
        """The next operation, and the steps in memory that follow."""
        while True:
            self._send(bytes([WORKS]))
            del self.operations[0]
            if self.operations[:1] != [IN_MEMORY]:
                return

    def change(self, offset: int, data: bytes, end: int) -> Said:
        self._send(struct.pack("<BIIQ", CHANGE, offset, len(data), end) + data)
        return self._said()

    def told(self, what: int, redo: int, seen: Found, page: int) -> Said:
        """What is read after a fault. `redo`: the redo point as a number of records."""
        self._send(struct.pack("<BIIII", what, redo, seen.epoch, len(seen.records), bool(seen.copy)))
        for record, end in seen.records:
            kind, data = (record.kind, record.data) if record.page == page else (ref.MARK, b"")
            self._send(struct.pack("<IIIQ", kind, record.offset, len(data), end))
            self._send(masked(data) if kind == ref.IMAGE else data)
        self._send(seen.place + seen.copy)
        return self._said()

    def close(self) -> None:
        self.process.communicate(bytes([STOP]))
