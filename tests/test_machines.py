# SPDX-License-Identifier: PostgreSQL
"""The machines that pgquern is compiled for: a big-endian one is refused in one sentence, whatever header is first."""

import subprocess
from pathlib import Path

import pytest

from tools.common import kernels

PUBLIC = sorted(str(path) for path in Path("csrc").rglob("*.h") if path.stem in ("pgquern", "common", path.parent.name))
REFUSAL = "pgquern needs a little-endian machine"
BIG = ("-U__BYTE_ORDER__", "-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__")


def compiled(header: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = ["gcc", "-std=c11", "-Icsrc", *flags, "-fsyntax-only", "-x", "c", header]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("header", PUBLIC)
def test_a_big_endian_machine_is_refused_with_one_sentence(header: str) -> None:
    here, there = compiled(header), compiled(header, *BIG)
    assert here.returncode == 0, here.stderr
    assert there.returncode != 0
    assert there.stderr.count(REFUSAL) >= 1


def test_each_machine_compiles_its_own_levels_and_what_is_for_all() -> None:
    x86, arm, other = (set(kernels.kernel_sources(machine=name)) for name in ("x86_64", "aarch64", "riscv64"))
    assert other < x86
    assert other < arm
    assert x86 & arm == other
    assert x86 | arm == set(Path("csrc").rglob("*.c"))
