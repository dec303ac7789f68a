# SPDX-License-Identifier: PostgreSQL
"""Which function each dispatched entry calls, in a given environment.

python -m tests.common.dispatch CASES

CASES is a JSON list of objects, each the values of PGQUERN_* in one case. Prints a JSON list: for each case an object
that maps each kind to the name of the variant that was called, or to the status code if none was. Every kernel in the
tables of variants is replaced by a spy before anything is called, so that arguments do not matter. The library reads
the environment once, at the first call, so each case has a process of its own.
"""

import ctypes
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from mmap import PAGESIZE, PROT_READ, PROT_WRITE
from pathlib import Path
from typing import Any

from _pgquern import ffi, lib

LIBC = ctypes.CDLL(None, use_errno=True)
called: list[str] = []
spies: list[Any] = []  # cffi needs them alive


def kinds() -> list[str]:
    """The kinds by the names of their tables, pgq_<kind>_variants; a stem with several kinds has its name in each."""
    prefix, suffix = "pgq_", "_variants"
    return [
        name.removeprefix(prefix).removesuffix(suffix)
        for name in dir(lib)
        if name.startswith(prefix) and name.endswith(suffix)
    ]


def rows(kind: str) -> list[Any]:
    """The rows of a kind's table."""
    table = getattr(lib, f"pgq_{kind}_variants")
    return [table[i] for i in range(getattr(lib, f"pgq_{kind}_variant_count"))]


def name_of(row: Any) -> str:
    return str(ffi.string(row.name).decode("ascii"))


def make_writable(row: Any) -> None:
    """Tables are constant, in memory that the loader has made read-only."""
    at = int(ffi.cast("uintptr_t", ffi.addressof(row)))
    start = at // PAGESIZE * PAGESIZE
    size = at + ffi.sizeof(row) - start
    if LIBC.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), PROT_READ | PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")


def spy_on(kind: str) -> None:
    """Replaces each function of a kind's table by one that notes the row's name."""

    def note(name: str, nothing: Any, *_arguments: Any) -> Any:
        called.append(name)
        return nothing

    for row in rows(kind):
        signature = ffi.typeof(row.fn)
        nothing = 0 if signature.result.kind == "primitive" else ffi.new(f"{signature.result.cname} *")[0]
        spy = ffi.callback(signature, partial(note, name_of(row), nothing))
        spies.append(spy)
        make_writable(row)
        row.fn = spy


def entry(kind: str) -> Callable[[], Any]:
    """The call of a kind's dispatched function: pgq_<kind>, or one whose name starts so, of the kernels' signature.

    Other functions dispatch a kind that has no such function: ENTRIES of tests/<stem>/entries.py says how.
    """
    for file in Path("tests").glob("*/entries.py"):
        entries = import_module(f"tests.{file.parent.name}.entries").ENTRIES
        if kind in entries:
            return entries[kind]  # type: ignore[no-any-return]
    signature = ffi.typeof(rows(kind)[0].fn)
    names = [f"pgq_{kind}", *(name for name in dir(lib) if name.startswith(f"pgq_{kind}_"))]
    found = [getattr(lib, name) for name in names if hasattr(lib, name)]
    function = next(f for f in found if callable(f) and ffi.typeof(f) == signature)
    return partial(function, *(ffi.NULL if arg.kind == "pointer" else 0 for arg in signature.args))


def chosen() -> dict[str, str | int]:
    """By kind: the variant that its entry calls, or the code that it returns without calling one; its index is 0."""
    result: dict[str, str | int] = {}
    for kind in kinds():
        called.clear()
        status = entry(kind)()
        refused = int(status.code) if status.index == 0 else f"index {status.index}"
        result[kind] = called[0] if called else refused
    return result


def in_child(case: dict[str, str]) -> dict[str, str | int]:
    """Runs chosen() in a fork of this process with these values of PGQUERN_*."""
    receiver, sender = os.pipe()
    if os.fork() == 0:
        os.close(receiver)
        for name in [name for name in os.environ if name.startswith("PGQUERN_")]:
            del os.environ[name]
        os.environ.update(case)
        os.write(sender, json.dumps(chosen()).encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as answer:
        text = answer.read()
    os.wait()
    return json.loads(text)  # type: ignore[no-any-return]


def main(cases: list[dict[str, str]]) -> None:
    for kind in kinds():
        spy_on(kind)
    print(json.dumps([in_child(case) for case in cases]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
