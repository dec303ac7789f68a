# SPDX-License-Identifier: PostgreSQL
"""Our LRU and S3-FIFO beside those of libcachesim: the same hits, step by step.

libcachesim answers from a process of its own (bench/tiercache/peer.py).
"""

import json
import lzma
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pgquern.tiercache import hits

from tests.tiercache.record import TRACE

LEAST_FRAMES, NOT_INSTALLED = 20, 3
"""As in bench/tiercache/peer.py."""
FEWER = settings(max_examples=max(10, settings().max_examples // 5))
both = pytest.mark.parametrize("policy", ["lru", "s3fifo"])


class Peer:
    """libcachesim: a line asks, a line answers."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.tiercache.peer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, policy: str, pages: Sequence[int], frames: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"policy": policy, "frames": frames, "pages": [page + 1 for page in pages], "each": True}
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line and self.process.wait() == NOT_INSTALLED:
            pytest.skip("libcachesim is not installed: it has no wheel for this machine or this Python")
        return dict(json.loads(line))


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    found = Peer()
    yield found
    found.process.kill()
    found.process.communicate()


STEP = 25


def hits_until(policy: str, pages: Sequence[int], frames: int) -> list[int]:
    """Our hits after each STEP references more."""
    return [hits(pages[:end], frames, policy=policy) for end in range(STEP, len(pages) + 1, STEP)]


@both
@FEWER
@given(seed=st.integers(0, 2**32), frames=st.integers(LEAST_FRAMES, 60), spread=st.integers(1, 6))
def test_each_reference_as_libcachesim(peer: Peer, policy: str, seed: int, frames: int, spread: int) -> None:
    """Few pages have most of the references, which ones changes on the way, and now and then comes a scan."""
    rng, pages = Random(seed), list[int]()
    while len(pages) < 600:
        first = rng.randrange(1000)
        if rng.random() < 0.02:
            pages += range(first, first + rng.randrange(2 * frames))
        pages.append(int(rng.paretovariate(0.6)) % (spread * frames) + len(pages) // 200 * 7)
    answer = peer.ask(policy, pages, frames)
    event(f"hits, in tenths of the references: {answer['hits'] * 10 // len(pages)}")
    assert hits_until(policy, pages, frames) == list(accumulate(answer["each"]))[STEP - 1 :: STEP]


@both
@FEWER
@given(pages=st.lists(st.integers(0, 40), max_size=400), frames=st.integers(LEAST_FRAMES, 30))
def test_any_trace_as_libcachesim(peer: Peer, policy: str, pages: list[int], frames: int) -> None:
    assert hits(pages, frames, policy=policy) == peer.ask(policy, pages, frames)["hits"]


@both
@pytest.mark.parametrize("percent", [0.5, 1, 2, 5, 10, 20, 50])
def test_the_recorded_trace_as_libcachesim(peer: Peer, policy: str, percent: float) -> None:
    pages = [int(line) for line in lzma.decompress(TRACE.read_bytes()).split()]
    frames = max(LEAST_FRAMES, int(len(set(pages)) * percent / 100))
    assert hits(pages, frames, policy=policy) == peer.ask(policy, pages, frames)["hits"]
