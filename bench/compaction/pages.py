# SPDX-License-Identifier: PostgreSQL
"""The heap pages of the benchmarks (pages.h), as bytes; build/bench/compaction/inputs.so, by make, is what it loads."""

from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

LIBRARY = Path("build/bench/compaction/inputs.so")
PAGE_SIZE = 8192
POOL_PAGES = 4096
DECLARATIONS = """
typedef struct page_shape { int n; int len_min, len_max; int live; bool random; } page_shape;
bool make_pages(uint8_t *pages, size_t count, const page_shape *shape, uint64_t *state);
"""
FIRST_STATE = 88172645463325252  # PAGES_FIRST_STATE


@cache
def _library() -> tuple[FFI, Any]:
    ffi = FFI()
    ffi.cdef(DECLARATIONS)
    return ffi, ffi.dlopen(str(LIBRARY.absolute()))


def pool(config: dict[str, str], count: int = POOL_PAGES) -> bytes:
    """`count` pages of a configuration: n, len ("24" or "32..400"), live (percent), order ("presorted" or "random").

    Raises ValueError if no page of this shape exists.
    """
    ffi, library = _library()
    low, _, high = config["len"].partition("..")
    shape = (int(config["n"]), int(low), int(high or low), int(config["live"]), config["order"] == "random")
    pages = bytearray(count * PAGE_SIZE)
    state = ffi.new("uint64_t *", FIRST_STATE)
    if not library.make_pages(ffi.from_buffer("uint8_t[]", pages), count, ffi.new("page_shape *", shape), state):
        raise ValueError(f"no page has the shape {config}")
    return bytes(pages)
