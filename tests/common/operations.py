# SPDX-License-Identifier: PostgreSQL
"""What kernels in plain C do to memory beside what the proved functions do: the same operations in the same order.

Equal results do not say that: another way may end in the same bytes. build/traced/STEM tells what C does,
compiled at -O0, where each access of the text is made; build/oracle/STEM_operations tells what the proved functions
do, extracted from the proofs. PGQUERN_TRACED=aarch64 asks what C does on that machine: qemu runs
build/aarch64/traced/STEM, which `make test CROSS=aarch64` builds.
"""

import os
import shutil
import struct
import subprocess
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.common.extraction import program
from tests.common.tally import tally

TOP = Path(__file__).parents[2]
OTHER = os.environ.get("PGQUERN_TRACED", "")
"""The machine whose programs an emulator runs; empty: they are this one's."""
BUILT = TOP / "build" / OTHER / "traced"
EMULATOR = [f"qemu-{OTHER}"] if OTHER else []
"""What runs these programs."""
LEVELS = {"aarch64": {"neon"}}
"""The variants that an emulated machine has beside those in plain C."""
LOAD, STORE, MOVE = range(3)
FAULT = 3
"""How a traced program ends at what no kernel may do: TRACED_FAULT."""

RECORD = np.dtype([("what", "u1"), ("array", "u1"), ("zero", "u2"), ("at", "u4"), ("from", "u4"), ("n", "u4")])

Operations = np.ndarray
"""Of RECORD, for one question: what, array, at, from and how many elements. `from` is for moves."""


def skip_unless_run(variant: str, here: Collection[str]) -> None:
    """Skips a test of a variant that neither this CPU nor the emulated one has. `here`: those of this CPU."""
    if variant not in LEVELS.get(OTHER, here):
        pytest.skip(f"this CPU cannot run {variant}{'; `make test CROSS=aarch64` does' if variant == 'neon' else ''}")


def _told(path: Path, questions: Sequence[bytes], runs_it: Sequence[str] = ()) -> list[Operations]:
    """The operations for each question, an access to several elements as one to each."""
    if not path.exists():
        command = "test-cross" if runs_it else f"oracle build/traced/{path.name.removesuffix('_operations')}"
        pytest.fail(f"{path} is not built: run `make {command}`")
    output = subprocess.run([*runs_it, path], input=b"".join(questions), stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    for _ in questions:
        (k,) = struct.unpack_from("<I", output, at)
        found.append(_single(np.frombuffer(output, RECORD, k, at + 4)))
        at += 4 + RECORD.itemsize * k
    assert at == len(output)
    return found


def _single(operations: Operations) -> Operations:
    times = np.where(operations["what"] == MOVE, 1, operations["n"])
    single = np.repeat(operations, times)
    first = np.repeat(np.cumsum(times) - times, times)
    single["at"] += (np.arange(len(single)) - first).astype("u4")
    single["n"][single["what"] != MOVE] = 1
    return single


def traced(stem: str, questions: Sequence[bytes], folder: Path = BUILT) -> list[Operations]:
    return _told(folder / stem, questions, EMULATOR)


@cache
def _proved(stem: str, questions: tuple[bytes, ...]) -> list[Operations]:
    return _told(program(f"{stem}_operations"), questions)


def proved(stem: str, questions: Sequence[bytes]) -> list[Operations]:
    return _proved(stem, tuple(questions))


def _first_other(got: Operations, want: Operations) -> str:
    """Where two lists differ; empty if they do not."""
    if np.array_equal(got, want):
        return ""
    both = min(len(got), len(want))
    differ = np.flatnonzero(got[:both] != want[:both])
    n = int(differ[0]) if len(differ) else both
    return f"operation {n} of {len(got)} in C, {len(want)} proved: {got[n : n + 1]} in C, {want[n : n + 1]} proved"


def compare(stem: str, questions: Sequence[bytes], inputs: str) -> None:
    """C and proof do the same for each question; `inputs`: what the questions are called in the tally."""
    for number, (got, want) in enumerate(zip(traced(stem, questions), proved(stem, questions), strict=True)):
        other = _first_other(got, want)
        assert not other, f"question {number} of {len(questions)}, {len(questions[number])} bytes: {other}"
        tally(stem, "operations traced", len(got))
    tally(stem, f"{inputs} traced", len(questions))


def is_told(stem: str, file: str, old: str, new: str, questions: Sequence[bytes], folder: Path) -> bool:
    """C with one change, compiled in a folder, does something else for some question, or what no kernel may do.

    That the change leaves the results as they are is by reading: nothing here compares them.
    """
    text = (TOP / "csrc" / stem / file).read_text()
    assert text.count(old) == 1
    (folder / stem).mkdir()
    (folder / stem / file).write_text(text.replace(old, new))
    path = folder / "traced" / stem
    if file.endswith(".c"):  # nothing else is compiled anew
        shutil.copytree(BUILT / f"{stem}.objects", objects := path.with_suffix(".objects"))
        (objects / file).with_suffix(".o").unlink()
    command = ["make", "-s", f"CROSS={OTHER}", f"CHANGED={folder}", f"TRACED={path.parent}", str(path)]
    variables = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(command, cwd=TOP, env=variables, check=True)
    try:
        other = traced(stem, questions, path.parent)
    except subprocess.CalledProcessError as error:  # its message says which access it was
        if error.returncode != FAULT:
            raise
        return True
    return any(map(_first_other, other, proved(stem, questions)))
