# SPDX-License-Identifier: PostgreSQL
"""csrc/common/holds.h: what must hold is looked at where tests compile, and only there."""

import shlex
import subprocess
from pathlib import Path

TOP = Path(__file__).parent.parent
PROGRAM = """#include "common/holds.h"
int main(int argc, char **argv)
{
    (void)argv;
    HOLDS(argc == 1);
    HOLDS(argc++ < 0 || argc > 1);
    return argc - 1;
}
"""
LOCKED = """#include "common/holds.h"
#include <pthread.h>
int main(int argc, char **argv)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    (void)argv;
    if (argc > 1)
        pthread_mutex_lock(&mutex);
    HOLDS(IS_LOCKED(&mutex));
    return pthread_mutex_trylock(&mutex) != 0;
}
"""


def flags(*variables: str) -> dict[str, list[str]]:
    """Variables of the Makefile."""
    lines = "".join(f"\t@echo '$({variable})'\n" for variable in variables)
    show = ["make", "-s", "-f", "Makefile", "--eval", f"shown:\n{lines}", "shown"]
    said = subprocess.run(show, cwd=TOP, capture_output=True, text=True, check=True).stdout.splitlines()
    return {variable: shlex.split(line) for variable, line in zip(variables, said, strict=True)}


def end(tmp_path: Path, name: str, *options: str, words: tuple[str, ...] = (), text: str = PROGRAM) -> int:
    source, program = tmp_path / f"{name}.c", tmp_path / name
    source.write_text(text)
    compiler = ["gcc", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/csrc", *options, str(source), "-o", str(program)]
    subprocess.run(compiler, check=True)
    return subprocess.run([program, *words], stderr=subprocess.DEVNULL, check=False).returncode


def test_a_false_condition_ends_a_program_of_the_tests_and_no_other(tmp_path: Path) -> None:
    """Also with NDEBUG. Elsewhere the condition is not even evaluated."""
    assert end(tmp_path, "checked", "-DPGQUERN_HOLDS", "-DNDEBUG") == 1  # argc was counted up
    assert end(tmp_path, "broken", "-DPGQUERN_HOLDS", "-DNDEBUG", words=("more",)) == -6
    assert end(tmp_path, "plain", words=("more",)) == 1  # argc is 2, as given


def test_a_mutex_that_nobody_holds_ends_a_program_of_the_tests_and_no_other(tmp_path: Path) -> None:
    """Elsewhere nobody takes it."""
    assert end(tmp_path, "checked", "-DPGQUERN_HOLDS", words=("lock",), text=LOCKED) == 1
    assert end(tmp_path, "broken", "-DPGQUERN_HOLDS", text=LOCKED) == -6
    assert end(tmp_path, "plain", text=LOCKED) == 0


def test_tests_look_and_kernels_do_not() -> None:
    kinds = ("ASAN", "FUZZ", "TSAN", "WORLD", "PLAIN", "KERNEL")
    for kind, found in flags(*(f"CFLAGS_{kind}" for kind in kinds)).items():
        assert "-O1" in found or "-O2" in found
        assert ("-DPGQUERN_HOLDS" in found) == (kind != "CFLAGS_KERNEL")
