# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable
from typing import Any

from pgquern.tornpage import Store, check, checksums, first_wrong, variants, verdicts

from ref.tornpage import Protection
from tests.common.entry_points import Call
from tests.tornpage.worlds import Shape, kernel

SHAPE = Shape(Protection.DOUBLE_WRITE)
PAGES = bytes(2 * 8192)
PLACE = {"block_size": 8192, "first_block": 7}


def store(formatted: bool = True) -> Store:
    found = kernel(SHAPE, SHAPE.device())
    if formatted:
        found.format()
    return found


def on(method: str, *args: Any) -> Call:
    return Call(getattr(store(), method), args)


def begun() -> Store:
    found = store()
    found.checkpoint_begin()
    return found


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "checksums": lambda: Call(checksums, (PAGES,), PLACE | {"variant": "scalar"}),
    "check": lambda: Call(check, (PAGES,), PLACE),
    "verdicts": lambda: Call(verdicts, (PAGES,), PLACE),
    "first_wrong": lambda: Call(first_wrong, (PAGES,), PLACE),
    "Store": lambda: Call(
        Store, (SHAPE.device(),), {name: int(value) for name, value in SHAPE.config()._asdict().items()}
    ),
    "Store.format": lambda: Call(store(False).format),
    "Store.recover": lambda: on("recover"),
    "Store.change": lambda: on("change", 1, 30, b"bytes"),
    "Store.page": lambda: on("page", 1),
    "Store.flush": lambda: on("flush"),
    "Store.write_back": lambda: on("write_back", [0, 2]),
    "Store.checkpoint_begin": lambda: on("checkpoint_begin"),
    "Store.checkpoint_end": lambda: Call(begun().checkpoint_end),
}
