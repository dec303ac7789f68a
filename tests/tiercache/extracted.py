# SPDX-License-Identifier: PostgreSQL
"""The oracle's runs as steps of the proof, and the program that was extracted from it."""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pgquern.tiercache import File

from ref.tiercache import BLOCK_PAGES, Frame, Slot, TierCache
from tests.tiercache.devices import Operation, Records

PROGRAM = Path(__file__).parents[2] / "build" / "oracle" / "tiercache"

Step = list[int]


def answers(steps: Iterable[Step]) -> list[list[int]]:
    """For each step the answer, and of each page its contents and whether it is dirty."""
    lines = "".join(" ".join(str(int(number)) for number in step) + "\n" for step in steps)
    done = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [[int(number) for number in line.split()] for line in done.stdout.splitlines()]


def number(contents: bytes) -> int:
    """The proof's contents of a page: the number of the write that gave it these."""
    return int.from_bytes(contents[:8], "little")


class Traced(TierCache):
    """The oracle, which appends each step that it takes to `steps`."""

    def __init__(self, files: Records, steps: list[Step], **sizes: Any) -> None:
        self.steps, self.records = steps, files
        super().__init__(files, **sizes)
        remove = self.memory_policy.remove

        def note_and_remove(page: int, *, evicted: bool) -> None:
            self.steps.append([4, page])
            remove(page, evicted=evicted)

        self.memory_policy.remove = note_and_remove  # type: ignore[method-assign]

    def write(self, page: int, contents: bytes) -> None:
        super().write(page, contents)
        self.steps.append([1, page])

    def _keep(self, page: int, version: int, contents: bytes) -> None:
        if len(self.memory) < self.frames:
            self.steps.append([2, page])
        super()._keep(page, version, contents)

    def _write_ssd(self, page: int, frame: Frame) -> bool:
        slot = self.free_slots[-1]
        works = super()._write_ssd(page, frame)
        self.steps.append([3, page, slot, works])
        return works

    def _forget(self, page: int) -> None:
        self.steps.append([5, self.ssd[page].slot])
        super()._forget(page)

    def fsync(self) -> None:
        try:
            super().fsync()
        finally:
            self.steps.append([9])

    def _write_back(self, blocks: Sequence[int]) -> bool:
        asked = [
            page
            for block in blocks
            for page in range(block * BLOCK_PAGES, (block + 1) * BLOCK_PAGES)
            if any(page in tier and tier[page].dirty for tier in (self.memory, self.ssd))
        ]
        self.whole: list[int] = []
        self.part: list[int] = []
        before, stale = len(self.records.log), sorted(self.stale)
        at = len(self.steps)
        done = super()._write_back(blocks)
        del self.steps[at:]  # What a retired SSD forgets is part of the step.
        made = list(enumerate(self.records.log))[before:]
        if synced := [at for at, operation in made if operation == Operation("sync", File.STORE)]:
            lists = [n for pages in (asked, self.whole, self.part) for n in (len(pages), *pages)]
            syncs = synced[-1] not in self.records.fail
            self.steps.append([6, self.ssd_in_use, syncs, *lists])
        else:
            scrubbed = sum(
                operation[:2] == ("write", File.SSD) and at not in self.records.fail for at, operation in made
            )
            self.steps.append([7, stale[scrubbed - 1] + 1 if scrubbed else 0])
        return done

    def _write_block(self, found: dict[int, bytes], dirty: dict[int, bytes]) -> bool:
        before = len(self.records.log)
        done = super()._write_block(found, dirty)
        written = [
            page
            for at, operation in list(enumerate(self.records.log))[before:]
            if operation.what == "write" and at not in self.records.fail
            for page in range(operation.offset // 8192, (operation.offset + operation.size) // 8192)
        ]
        (self.whole if done else self.part).extend(written)
        return done


def crash(records: Records, pages: int, slots: int, generation: int) -> Step:
    """The step of a crash after which the devices hold this. The SSD counts as lost if a restart will not trust it."""
    store, ssd = records.shelves[File.STORE].now, records.shelves[File.SSD].now
    superblock, control = ssd.get("superblock"), records.shelves[File.CONTROL].now.get("mount", 0)
    step = [8, superblock is None or superblock.mount != control]
    step += [number(store[page]) if page in store else 0 for page in range(pages)]
    for slot in range(slots):
        found: Slot | None = ssd.get(slot)
        if found is None or found.generation != generation:
            step += [0]
        else:
            step += [1, found.page, number(found.contents), found.dirty]
    return step
