# SPDX-License-Identifier: PostgreSQL
"""That the sanitizers are on when `make test ONLY=asan` says so: the control of that run."""

import os
import subprocess
import sys
from pathlib import Path

import _pgquern
import pytest
from pgquern import compaction

from tests.common.variants import every_variant

pytestmark = pytest.mark.skipif(
    os.environ.get("PGQUERN_PROFILE") != "asan", reason="only under the sanitizers: make test ONLY=asan"
)

# A page cut short: the header promises 2042 line pointers where 40 bytes are.
SHORT = """
import ctypes, sys
from _pgquern import ffi, lib
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
at = libc.malloc(40)
page = bytes(12) + (8192).to_bytes(2, "little") * 3 + bytes(22)
ctypes.memmove(at, page, 40)
row = next(row for row in (lib.pgq_compaction_variants[i] for i in range(lib.pgq_compaction_variant_count))
           if ffi.string(row.name).decode() == sys.argv[1])
print("reached", flush=True)
row.fn(ffi.cast("void *", at), True)
print("survived")
"""


def test_the_module_under_test_is_the_sanitized_one() -> None:
    module = Path(_pgquern.__file__)
    assert module.parent.name == "ffi-asan"
    code = module.read_bytes()
    assert b"__asan_" in code
    assert b"__ubsan_handle_" in code


@pytest.mark.parametrize("variant", every_variant(compaction.variants()))
def test_a_read_past_the_page_is_seen(variant: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SHORT, variant],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.stdout == "reached\n"
    assert run.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in run.stderr
