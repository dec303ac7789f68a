# SPDX-License-Identifier: PostgreSQL
"""The pages of bench_compaction.cc, by the same definition, as bytes that can be sent to a server.

A page has n line pointers; every tuple ever inserted still has its space, in item order or at random; a share is dead:
half of those UNUSED, a quarter DEAD, a quarter REDIRECT, none with storage, at random places.
"""

from __future__ import annotations

import numpy as np

from ref.page import BLCKSZ, LAYOUT_VERSION, LP_DEAD, LP_NORMAL, LP_REDIRECT, LP_UNUSED, SIZE_OF_PAGE_HEADER

POOL_PAGES = 4096


def _lengths(rng: np.random.Generator, n: int, low: int, high: int) -> np.ndarray:
    """lp_len of each tuple of each page, so that a page holds them; those that don't fit are drawn again."""
    room = BLCKSZ - SIZE_OF_PAGE_HEADER - 4 * n
    lengths = rng.integers(low, high + 1, (POOL_PAGES, n))
    while (over := ((lengths + 7) // 8 * 8).sum(axis=1) > room).any():
        lengths[over] = rng.integers(low, high + 1, (int(over.sum()), n))
    return lengths


def pool(config: dict[str, str]) -> bytes:
    """4096 pages of a configuration: n, len ("24" or "32..400"), live (percent), order ("presorted" or "random")."""
    n, live = int(config["n"]), int(config["live"])
    low, _, high = config["len"].partition("..")
    rng = np.random.default_rng([n, live, int(low), config["order"] == "random"])
    lengths = _lengths(rng, n, int(low), int(high or low))
    aligned = (lengths + 7) // 8 * 8

    place = np.tile(np.arange(n), (POOL_PAGES, 1))
    dead = rng.permuted(place, axis=1)[:, : n * (100 - live) // 100]
    if config["order"] == "random":
        place = rng.permuted(place, axis=1)
    offsets = np.empty_like(aligned)
    np.put_along_axis(offsets, place, BLCKSZ - np.take_along_axis(aligned, place, axis=1).cumsum(axis=1), axis=1)

    flags = np.full_like(lengths, LP_NORMAL)
    kinds = np.resize([LP_UNUSED, LP_DEAD, LP_UNUSED, LP_REDIRECT], dead.shape[1])
    np.put_along_axis(flags, dead, np.tile(kinds, (POOL_PAGES, 1)), axis=1)
    upper = offsets.min(axis=1)
    lengths[flags != LP_NORMAL] = 0
    offsets[flags != LP_NORMAL] = 0
    offsets[flags == LP_REDIRECT] = 1

    pages = rng.integers(0, 256, (POOL_PAGES, BLCKSZ), dtype=np.uint8)
    pages[:, :SIZE_OF_PAGE_HEADER] = 0
    halves = pages.view("<u2")
    halves[:, 6], halves[:, 7], halves[:, 8] = SIZE_OF_PAGE_HEADER + 4 * n, upper, BLCKSZ
    halves[:, 9] = BLCKSZ | LAYOUT_VERSION
    pages.view("<u4")[:, 6 : 6 + n] = offsets | flags << 15 | lengths << 17
    return pages.tobytes()
