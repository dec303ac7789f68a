# SPDX-License-Identifier: PostgreSQL
"""The oracle's runs as steps of the proof, and the program that was extracted from it."""

import subprocess
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pgquern.tiercache import File

from ref.tiercache import BLOCK_PAGES, Frame, Gathered, Slot, TierCache
from tests.common.extraction import program
from tests.tiercache.devices import Operation, Records

PROGRAM = program("tiercache")

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
        self.in_doubt = False
        self.stays: int | None = None
        before, at = len(files.log), len(steps)
        try:
            super().__init__(files, **sizes)
        finally:
            del steps[at:]  # What a mount forgets is part of the step.
            if at > 1:
                steps += self._mounting(before)
        remove, doom = self.memory_policy.remove, self.memory_policy.doom

        def note_and_remove(page: int, *, evicted: bool) -> None:
            if page != self.stays:
                self.steps.append([4, page])
            self.stays = None
            remove(page, evicted=evicted)

        def doom_only(page: int) -> None:
            """It is removed from the policy, and is still in memory."""
            doom(page)
            self.steps.pop()

        self.memory_policy.remove = note_and_remove  # type: ignore[method-assign]
        self.memory_policy.doom = doom_only  # type: ignore[method-assign]

    def _mounting(self, before: int) -> list[Step]:
        """The step of the mount whose operations begin there. None, if it was refused before it changed anything."""
        made = list(enumerate(self.records.log))[before:]

        def works(what: str, file: File, offset: int = 0) -> bool:
            found = [at for at, operation in made if operation[:3] == (what, file, offset)]
            return bool(found) and found[-1] not in self.records.fail

        if ("sync", File.STORE) not in [operation[:2] for _, operation in made]:
            return []
        taken = {held.slot for held in self.ssd.values()}
        left = [slot for slot in range(self.slots) if slot not in taken]
        again = [
            page
            for at, operation in made
            if operation[:2] == ("write", File.STORE)
            for page in range(operation.offset // 8192, (operation.offset + operation.size) // 8192)
            if page < self.pages
        ]
        super_lands, control_lands = works("write", File.SSD), works("write", File.CONTROL)
        flags = [works("sync", File.STORE), works("read", File.SSD), self.in_doubt]
        flags += [super_lands, super_lands and works("sync", File.SSD)]
        flags += [control_lands, control_lands and works("sync", File.CONTROL)]
        return [[14, *flags, len(left), *left, len(again), *again]]

    def _take_over(self, slot: int, *, in_doubt: bool) -> None:
        self.in_doubt = in_doubt
        super()._take_over(slot, in_doubt=in_doubt)

    def write(self, page: int, contents: bytes) -> None:
        super().write(page, contents)
        self.steps.append([1, page])

    def _keep(self, page: int, version: int, contents: bytes, touches: int) -> None:
        if len(self.memory) < self.frames:
            self.steps.append([2, page])
        super()._keep(page, version, contents, touches)

    def _write_ssd(self, page: int, frame: Frame) -> bool:
        slot = self.free_slots[-1]
        works = super()._write_ssd(page, frame)
        self.steps.append([3, page, slot, works])
        # It leaves memory when the slot has it. If not, the policy takes it anew, unless it is to leave still.
        if not works and page not in self.memory_policy.doomed:
            self.stays = page
        return works

    def _forget(self, page: int) -> None:
        self.steps.append([5, self.ssd[page].slot])
        super()._forget(page)

    def fsync(self) -> None:
        try:
            super().fsync()
        finally:
            self.steps.append([9])

    def _write_back(self, blocks: Sequence[int], without: Collection[int] = ()) -> bool:
        asked = [
            page
            for block in blocks
            for page in range(block * BLOCK_PAGES, (block + 1) * BLOCK_PAGES)
            if page not in without and any(page in tier and tier[page].dirty for tier in (self.memory, self.ssd))
        ]
        self.whole: list[int] = []
        before, stale = len(self.records.log), sorted(self.stale)
        at = len(self.steps)
        done = super()._write_back(blocks, without)
        del self.steps[at:]  # What a retired SSD forgets is part of the step.
        made = list(enumerate(self.records.log))[before:]
        if any(operation[:2] == ("write", File.STORE) for _, operation in made):
            lists = [n for pages in (asked, self.whole, ()) for n in (len(pages), *pages)]
            syncs = [
                at not in self.records.fail for at, operation in made if operation == Operation("sync", File.STORE)
            ]
            self.steps.append([6, self.ssd_in_use, int(syncs[-1]) if syncs else 2, *lists])
        else:
            scrubbed = sum(
                operation[:2] == ("write", File.SSD) and operation.offset > 0 and at not in self.records.fail
                for at, operation in made
            )
            told = any(
                operation[:2] == ("write", File.CONTROL) and at not in self.records.fail for at, operation in made
            )
            forgets = any(operation[:2] == ("sync", File.SSD) for _, operation in made)
            self.steps.append([7, stale[scrubbed - 1] + 1 if scrubbed else 0, told, forgets])
        return done

    def _write_block(self, of: Gathered) -> set[int]:
        before = len(self.records.log)
        written = super()._write_block(of)
        self.whole += [
            page
            for at, operation in list(enumerate(self.records.log))[before:]
            if operation.what == "write" and at not in self.records.fail
            for page in range(operation.offset // 8192, (operation.offset + operation.size) // 8192)
        ]
        return written


def power_loss(records: Records, pages: int, slots: int) -> Step:
    """The step of a power loss after which the devices hold this. The SSD counts as lost if no mount will trust it."""
    store, ssd = records.shelves[File.STORE].now, records.shelves[File.SSD].now
    superblock, control = ssd.get("superblock"), records.shelves[File.CONTROL].now.get("control")
    step = [13, superblock is None or control is None or superblock.mount != control.mount]
    step += [number(store[page]) if page in store else 0 for page in range(pages)]
    for slot in range(slots):
        found: Slot | None = ssd.get(slot)
        if found is None or superblock is None or found.generation != superblock.generation:
            step += [0]
        else:
            step += [1, found.page, number(found.contents), found.dirty]
    return step
