# SPDX-License-Identifier: PostgreSQL
"""A device that may crash: what it holds, what is not durable yet, and every state that a crash may leave.

A crash keeps, of each sector by itself, what was durable or any later write to it. Where the device is atomic, a block
of the data file is one sector.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from math import prod
from random import Random

from ref.tornpage import File


@dataclass
class Device:
    """Files of fixed sizes in memory. `sector` is what tears apart; `atomic` what does not, in the data file."""

    sizes: dict[int, int]
    sector: int = 512
    atomic: int | None = None
    durable: dict[int, bytearray] = field(default_factory=dict)
    current: dict[int, bytearray] = field(default_factory=dict)
    pending: dict[tuple[int, int], list[bytes]] = field(default_factory=dict)
    """(file, sector) -> its contents after each write since the last sync, oldest first."""
    operations: list[tuple[object, ...]] = field(default_factory=list)
    """Writes and syncs, in their order."""

    def __post_init__(self) -> None:
        for file, size in self.sizes.items():
            self.durable.setdefault(file, bytearray(size))
            self.current.setdefault(file, bytearray(self.durable[file]))

    def unit(self, file: int) -> int:
        return self.atomic if self.atomic and file == File.DATA else self.sector

    def read(self, file: int, at: int, size: int) -> bytes:
        assert 0 <= at <= at + size <= self.sizes[file], "a read outside of the file"
        return bytes(self.current[file][at : at + size])

    def write(self, file: int, at: int, data: bytes) -> None:
        assert 0 <= at <= at + len(data) <= self.sizes[file], "a write outside of the file"
        self.operations.append(("write", int(file), at, data))
        now, unit = self.current[file], self.unit(file)
        now[at : at + len(data)] = data
        for number in range(at // unit, -(-(at + len(data)) // unit)):
            content = bytes(now[number * unit : (number + 1) * unit])
            self.pending.setdefault((file, number), []).append(content)

    def sync(self, file: int) -> None:
        self.operations.append(("sync", int(file)))
        self.durable[file][:] = self.current[file]
        self.pending = {where: contents for where, contents in self.pending.items() if where[0] != file}

    def crashes(self, rng: Random, most: int) -> Iterator["Device"]:
        """The states that a crash now may leave: all of them if there are at most `most`, otherwise that many of them,
        the two extreme ones and those with one sector lost or kept among them."""
        where = list(self.pending)
        versions = [len(self.pending[w]) + 1 for w in where]
        if prod(versions) <= most:
            yield from (self._after(where, choice) for choice in product(*(range(n) for n in versions)))
            return
        none, all_ = [0] * len(where), [n - 1 for n in versions]
        special = [none, all_]
        for i in rng.sample(range(len(where)), min(len(where), most // 4)):
            special += [[*none[:i], all_[i], *none[i + 1 :]], [*all_[:i], 0, *all_[i + 1 :]]]
        yield from (self._after(where, choice) for choice in islice(special, most))
        for _ in range(most - len(special)):
            yield self._after(where, [rng.randrange(n) for n in versions])

    def _after(self, where: list[tuple[int, int]], choice: "tuple[int, ...] | list[int]") -> "Device":
        files = {file: bytearray(content) for file, content in self.durable.items()}
        for (file, number), version in zip(where, choice, strict=True):
            if version:
                unit = self.unit(file)
                files[file][number * unit : (number + 1) * unit] = self.pending[file, number][version - 1]
        return Device(self.sizes, self.sector, self.atomic, files)
