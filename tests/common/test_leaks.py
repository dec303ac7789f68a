# SPDX-License-Identifier: PostgreSQL
"""The fuzzers' runner sees a leak, by a target that leaks on purpose, and says so where leaks cannot be looked for."""

import subprocess
from pathlib import Path

import pytest

from tests.common.leaks import NO_PTRACE, UNABLE
from tests.runners import fuzz

TARGET = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kept = size ? malloc(data[0] + 1) : NULL;
    FREE;
    return 0;
}
__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "tally: inputs=1\\n");
}
"""


@pytest.mark.parametrize(("freed", "leaking"), [("free(kept)", False), ("(void)kept; kept = NULL", True)])
def test_a_target_that_leaks_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, freed: str, leaking: bool) -> None:
    monkeypatch.setattr(fuzz, "CRASHES", tmp_path)
    (tmp_path / "target.c").write_text(TARGET.replace("FREE", freed))
    build = ["clang", "-g", "-fsanitize=fuzzer,address", str(tmp_path / "target.c"), "-o", str(tmp_path / "target")]
    subprocess.run(build, check=True)
    done = fuzz.fuzz(300, tmp_path / "target")
    if UNABLE in done.stderr:
        pytest.skip(NO_PTRACE)
    assert (done.returncode != 0, fuzz.LEAK in done.stderr) == (leaking, leaking), done.stderr
