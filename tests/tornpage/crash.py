# SPDX-License-Identifier: PostgreSQL
"""A device under faults: what it holds, what is not durable yet, and what a kill, a power loss or a failure leaves.

A power loss keeps, of each sector by itself, what was durable or any later write to it. Where the device is atomic, a
block of the data file is one sector. What a failed sync forgot stands in `current` alone: it is neither durable nor
pending.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from ref.tornpage import File

Operation = tuple[str, int, int, bytes] | tuple[str, int]


@dataclass
class Device:
    """Files of fixed sizes in memory. `sector` is what tears apart; `atomic` what does not, in the data file."""

    sizes: dict[int, int]
    sector: int = 512
    atomic: int | None = None
    durable: dict[int, bytearray] = field(default_factory=dict)
    current: dict[int, bytearray] = field(default_factory=dict)
    pending: dict[tuple[int, int], list[bytes]] = field(default_factory=dict)
    """(file, sector) -> its contents after each write since it was durable, oldest first."""
    operations: list[Operation] = field(default_factory=list)
    """Writes and syncs, in their order."""
    before: Callable[[Operation], None] | None = None
    """Called with each operation, reads too; an exception makes it fail, and then it has done nothing."""

    def __post_init__(self) -> None:
        for file, size in self.sizes.items():
            self.durable.setdefault(file, bytearray(size))
            self.current.setdefault(file, bytearray(self.durable[file]))

    def copy(self) -> "Device":
        """What the next process, on the same machine, finds."""
        durable, current = (
            {file: bytearray(content) for file, content in files.items()} for files in (self.durable, self.current)
        )
        pending = {where: list(contents) for where, contents in self.pending.items()}
        return Device(self.sizes, self.sector, self.atomic, durable, current, pending)

    def unit(self, file: int) -> int:
        return self.atomic if self.atomic and file == File.DATA else self.sector

    def read(self, file: int, at: int, size: int) -> bytes:
        assert 0 <= at <= at + size <= self.sizes[file], "a read outside of the file"
        if self.before is not None:
            self.before(("read", int(file)))
        return bytes(self.current[file][at : at + size])

    def write(self, file: int, at: int, data: bytes) -> None:
        assert 0 <= at <= at + len(data) <= self.sizes[file], "a write outside of the file"
        if self.before is not None:
            self.before(("write", int(file), at, data))
        self.operations.append(("write", int(file), at, data))
        self.land(file, at, data)

    def sync(self, file: int) -> None:
        """Makes durable what is pending; of what was forgotten it says nothing."""
        if self.before is not None:
            self.before(("sync", int(file)))
        self.operations.append(("sync", int(file)))
        for where in self._pending_of(file):
            self._keep(where, self.pending.pop(where)[-1])

    def land(self, file: int, at: int, data: bytes) -> None:
        now, unit = self.current[file], self.unit(file)
        now[at : at + len(data)] = data
        for number in range(at // unit, -(-(at + len(data)) // unit)):
            content = bytes(now[number * unit : (number + 1) * unit])
            self.pending.setdefault((file, number), []).append(content)

    def _pending_of(self, file: int) -> list[tuple[int, int]]:
        return [where for where in self.pending if where[0] == file]

    def _keep(self, where: tuple[int, int], content: bytes) -> None:
        at = where[1] * self.unit(where[0])
        self.durable[where[0]][at : at + len(content)] = content

    # -- faults --

    def interrupted(self, operation: Operation, rng: Random) -> "Device":
        """What is left if this operation fails, or the process is killed in it: it lands wholly, in part or not."""
        left = self.copy()
        match operation:
            case ("write", file, at, data):
                for start, part in self._landing(file, at, data, rng):
                    left.land(file, start, part)
            case ("sync", file):
                left.sync_badly(file, rng)
        return left

    def _landing(self, file: int, at: int, data: bytes, rng: Random) -> list[tuple[int, bytes]]:
        how = rng.randrange(4)
        if how < 2:
            return [(at, data)] if how else []
        if how == 2 and not (self.atomic and file == File.DATA):  # any bytes
            start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
            cut = rng.choice([(0, end), (start, len(data)), (start, end)])
            return [(at + cut[0], data[slice(*cut)])] if cut[0] < cut[1] else []
        unit = self.unit(file)
        edges = [at, *range(at + unit - at % unit, at + len(data), unit), at + len(data)]
        pieces = [(a, data[a - at : b - at]) for a, b in pairwise(edges)]
        return [piece for piece in pieces if rng.random() < 0.5]

    def sync_badly(self, file: int, rng: Random) -> None:
        """A sync that fails: each sector becomes durable, stays pending, or is forgotten: marked as clean."""
        how = rng.choice(["durable", "pending", "forgotten", "mixed", "mixed"])
        for where in self._pending_of(file):
            fate = rng.choice(["durable", "pending", "forgotten"]) if how == "mixed" else how
            if fate == "durable":
                self._keep(where, self.pending.pop(where)[-1])
            elif fate == "forgotten":
                versions = self.pending.pop(where)
                if rng.random() < 0.25:
                    self._keep(where, rng.choice(versions))

    def evict(self, rng: Random) -> None:
        """Of what was forgotten, some is read from the device again."""
        share = rng.choice([0.1, 0.5, 1])
        for file, now in self.current.items():
            unit = self.unit(file)
            for number in range(-(-len(now) // unit)):
                if (file, number) not in self.pending and rng.random() < share:
                    part = slice(number * unit, (number + 1) * unit)
                    now[part] = self.durable[file][part]

    def killed(self, rng: Random) -> "Device":
        """After the end of a process. The kernel may fail to write what it left, tell nobody, and drop it."""
        left = self.copy()
        if rng.random() < 0.4:
            for file in self.sizes:
                left.sync_badly(file, rng)
        if rng.random() < 0.4:
            left.evict(rng)
        return left

    def _after(self, where: list[tuple[int, int]], choice: "tuple[int, ...] | list[int]") -> "Device":
        left = Device(self.sizes, self.sector, self.atomic, {f: bytearray(c) for f, c in self.durable.items()})
        for at, version in zip(where, choice, strict=True):
            if version:
                left._keep(at, self.pending[at][version - 1])
        left.current = {file: bytearray(content) for file, content in left.durable.items()}
        return left

    def power_loss(self, rng: Random) -> "Device":
        where = list(self.pending)
        share = rng.choice([0, 0.1, 0.5, 0.9, 1])
        versions = (len(self.pending[w]) for w in where)
        return self._after(where, [rng.randint(1, n) if rng.random() < share else 0 for n in versions])
