# SPDX-License-Identifier: PostgreSQL
"""libcachesim's eviction policies, as a program of its own: theirs is another licence (GPL 3), and another process.

    python -m bench.tiercache.peer

Each line of input asks, in JSON: {"policy": "lru", "frames": 100, "pages": [1, 2, 1]}. The answer, a line of JSON: how
many references found their page, and with "each": true which ones. In the place of pages may stand the name of a file
that `write_trace` has written. Exit status 3: libcachesim is not installed; it has no wheel for this machine.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

NOT_INSTALLED = 3
LEAST_FRAMES = 20
"""With fewer, its S3-FIFO has a small queue of one page or none, and then takes no page at all."""
REFERENCE = np.dtype([("time", "<u4"), ("page", "<u8"), ("size", "<u4"), ("next", "<i8")])
"""Of its format oracleGeneral. next: when the page comes again, or -1; Belady's policy asks for it."""


def write_trace(path: Path, pages: Sequence[int]) -> None:
    """The trace as a file that libcachesim reads. Its pages have numbers from 1 on."""
    references = np.zeros(len(pages), REFERENCE)
    last: dict[int, int] = {}
    following = np.full(len(pages), -1, np.int64)
    for at in reversed(range(len(pages))):
        following[at] = last.get(pages[at], -1)
        last[pages[at]] = at
    references["page"] = np.unique(np.asarray(pages, np.uint64), return_inverse=True)[1] + 1
    references["size"], references["next"] = 1, following
    references.tofile(path)


def policies(peer: Any) -> dict[str, Callable[[int], Any]]:
    """By our names, each a function of the frames. Parameters are its defaults, but for W-TinyLFU's window, which has
    a hundredth of the frames, and here one frame at least: with none it has no hits in less than 100 frames."""

    def simple(kind: Any) -> Callable[[int], Any]:
        return lambda frames: kind(frames, hashpower=16)

    return {
        "lru": simple(peer.LRU),
        "clock": simple(peer.Clock),
        "2q": simple(peer.TwoQ),
        "arc": simple(peer.ARC),
        "lirs": simple(peer.LIRS),
        "s3fifo": simple(peer.S3FIFO),
        "sieve": simple(peer.Sieve),
        "wtinylfu": lambda frames: peer.WTinyLFU(frames, hashpower=16, window_size=max(0.01, 1.5 / frames)),
        "optimum": simple(peer.Belady),
    }


def answer(peer: Any, asked: dict[str, Any]) -> dict[str, Any]:
    cache = policies(peer)[asked["policy"]](asked["frames"])
    if isinstance(asked["pages"], str):
        length = Path(asked["pages"]).stat().st_size // REFERENCE.itemsize
        reader = peer.TraceReader(asked["pages"], peer.TraceType.ORACLE_GENERAL_TRACE, peer.ReaderInitParam())
        misses, _ = cache.process_trace(reader)
        return {"hits": round((1 - misses) * length)}
    request, found = peer.Request(obj_size=1), []
    for page in asked["pages"]:
        request.obj_id = page
        found.append(bool(cache.get(request)))
    return {"hits": sum(found), **({"each": found} if asked.get("each") else {})}


def main() -> int:
    try:
        import libcachesim as peer
    except ModuleNotFoundError:
        return NOT_INSTALLED
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what it prints is no answer
    for line in sys.stdin:
        print(json.dumps(answer(peer, json.loads(line))), file=out, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
