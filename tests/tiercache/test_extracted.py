# SPDX-License-Identifier: PostgreSQL
"""The steps extracted from the proof, the oracle and the kernel, in the same runs: crashes and failures among them."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from pgquern import PgquernError
from pgquern.tiercache import TierCache

from ref import tiercache as ref
from tests.common.tally import tally
from tests.tiercache.devices import SSD_BLOCKS, Disk, Records, whole_writes
from tests.tiercache.extracted import Step, Traced, answers, number, power_loss

PAGES, SLOTS = 48, 6
SIZES: dict[str, Any] = {"pages": PAGES, "frames": 16, "slots": SLOTS, "batch": 2}
FAILURES = (ref.ReadError, ref.LostError, ref.WriteBackError, ref.ControlError)


class Run:
    """A random run of the kernel and the oracle; `checks` has, after so many steps, what each page must be."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        ssd_block = SSD_BLOCKS[seed // 2 % 2]
        self.disk, self.records = Disk(PAGES, SLOTS, ssd_block=ssd_block), Records(ssd_block=ssd_block)
        self.sizes = SIZES | {"ssd_block": ssd_block}
        self.steps: list[Step] = [[0, PAGES, SLOTS]]
        self.checks: list[tuple[int, list[int], bool]] = []
        self.written = 0
        self._open()

    def _open(self) -> None:
        self.oracle = Traced(self.records, self.steps, **self.sizes)
        self.kernel = TierCache(self.disk, **self.sizes)

    def _both(self, call: Callable[[Any], Any]) -> bool:
        outcomes = []
        for cache in (self.kernel, self.oracle):
            try:
                outcomes.append((True, call(cache)))
            except (PgquernError, *FAILURES):
                outcomes.append((False, None))
        assert outcomes[0] == outcomes[1]
        return outcomes[0][0]

    def call(self) -> None:
        page = self.rng.choice([self.rng.randrange(PAGES), self.rng.randrange(20)])
        what = self.rng.choices(("write", "read", "write_back", "fsync", "clean"), (50, 25, 8, 4, 4))[0]
        if what == "clean":
            # A write follows: the proof's fsync syncs the SSD also if nothing is dirty (SOUNDNESS.md).
            frames, steps = self.rng.randrange(9), self.rng.randrange(12)
            self._both(lambda cache: cache.clean(frames, steps))
        if what in ("write", "clean"):
            contents = (self.written + 1).to_bytes(8, "little") * 1024
            self.written += self._both(lambda cache: cache.write(page, contents))
        elif what == "read":
            self._both(lambda cache: cache.read(page))
        elif what == "write_back":
            self._both(lambda cache: cache.write_back(page // 16))
        else:
            self._check(self._both(lambda cache: cache.fsync()))

    def fail(self, ahead: int) -> None:
        """One of the next operations, unless it is a read: the proof's SSD gives what it holds."""
        at = len(self.records.log) + ahead
        self.disk.fail_unless_read.add(at)
        self.records.fail_unless_read.add(at)

    def crash(self) -> None:
        """A kill or a power loss, and mounts until one works; those before may fail at any operation but a read."""
        self.kernel.close()
        for attempt in range(4):
            if self.rng.random() < 0.5:
                self.steps.append([12])
            else:
                self._lose_power()
            for device in (self.disk, self.records):
                device.heal()
            if attempt < 3 and self.rng.random() < 0.5:
                self.fail(self.rng.randrange(16))
            if self._mounts():
                self._check(True)
                return
        raise AssertionError("no mount works")

    def _lose_power(self) -> None:
        seed, lose_ssd = self.rng.randrange(2**20), self.rng.random() < 0.3
        for device in (self.disk, self.records):
            device.lose_power(whole_writes(seed))
            if lose_ssd:
                device.replace_ssd(None)
        self.steps.append(power_loss(self.records, PAGES, SLOTS))

    def _mounts(self) -> bool:
        try:
            self._open()
        except FAILURES:
            with pytest.raises(PgquernError):
                TierCache(self.disk, **self.sizes)
            return False
        return True

    def _check(self, answer: bool) -> None:
        """By the oracle's own tiers, without a call: what a read would give."""
        oracle = self.oracle
        now = []
        for page in range(PAGES):
            frame, held = oracle.memory.get(page), oracle.ssd.get(page)
            if frame is not None:
                contents = frame.contents
            elif held is not None:
                contents = oracle._read_ssd(page) or b""
                self.records.log.pop()
            else:
                contents = oracle.files.read_store(page, 1)[0]
                self.records.log.pop()
            dirty = (frame is not None and frame.dirty) or (held is not None and held.dirty)
            now += [number(contents), int(dirty)]
        self.checks.append((len(self.steps), now, answer))

    def judge(self) -> None:
        given = answers(self.steps)
        for n, now, answer in self.checks:
            assert given[n - 1] == [int(answer), *now], f"step {n}: {self.steps[n - 1]}"


def test_proof_equals_oracle_equals_kernel() -> None:
    for seed in range(40):
        run = Run(seed)
        for _ in range(8):
            for _ in range(run.rng.randrange(80)):
                run.call()
                if seed % 2 and run.rng.random() < 0.03:
                    run.fail(run.rng.randrange(30))
            run.crash()
        run.judge()
        run.kernel.close()
        tally("tiercache", "steps through proof, oracle and kernel", len(run.steps))
