# SPDX-License-Identifier: PostgreSQL
"""The choice of a variant: by the CPU, by PGQUERN_CPU and by PGQUERN_VARIANT; and that each row runs its own function.

The tests take the expected values from other sources than the library does: the CPU's features from the system, the
needs of a variant from the name of its source file, a row's function from the symbol table.
"""

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import _pgquern
import pgquern
import pytest
from _pgquern import ffi, lib

from tests.common.dispatch import kinds, name_of, rows
from tools.common.kernels import kernel_sources

# The levels of PGQUERN_CPU by machine. Each has the features that it needs beyond the one before, as Linux names them.
MACHINES: dict[str, dict[str, set[str]]] = {
    "x86_64": {
        "avx2": {"avx", "avx2", "bmi1", "bmi2", "popcnt", "abm"},
        "avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
        "avx512vbmi2": {"avx512_vbmi2"},
    },
    "aarch64": {"neon": {"asimd"}},
}
LEVELS: dict[str, set[str]] = {"none": set()} | MACHINES.get(platform.machine(), {})
FOREIGN = [level for machine, levels in MACHINES.items() if machine != platform.machine() for level in levels]
# Beside the binding; that of a changed kernel has another folder, and takes what is not changed from here.
OBJECTS = next(
    top / "obj" for top in Path(_pgquern.__file__).resolve().parents if (top / "lib" / "libpgquern.a").exists()
)
RANK = {level: rank for rank, level in enumerate(LEVELS)}
ROWS = [(kind, name_of(row)) for kind in kinds() for row in rows(kind)]
NAMES = sorted({name for _, name in ROWS})


def features() -> set[str]:
    """What the CPU has. On ARM the kernel tells each process, and an emulator does so, too."""
    if platform.machine() == "aarch64":
        at_hwcap, asimd = 16, 1 << 1
        return {"asimd"} if ctypes.CDLL(None).getauxval(at_hwcap) & asimd else set()
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


@cache
def level_of_the_cpu() -> str:
    """The highest level whose features, and those of all below it, the CPU has."""
    flags = features()
    found = "none"
    for level, needs in LEVELS.items():
        if not needs <= flags:
            break
        found = level
    return found


def nm(*files: Path) -> Iterator[tuple[Path, str, int]]:
    """The functions that these files define: file, name, address."""
    run = subprocess.run(["nm", "-A", "--defined-only", *files], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        file, _, fields = line.partition(":")
        address, kind, name = fields.split()
        if kind in "tT":
            yield Path(file), name, int(address, 16)


@cache
def levels_of_functions() -> dict[str, str]:
    """The level that each function's file is compiled for, by the end of the file's name."""
    objects = [OBJECTS / source.relative_to("csrc").with_suffix(".o") for source in kernel_sources()]
    return {
        function: next((level for level in reversed(LEVELS) if file.stem.endswith(level)), "none")
        for file, function, _ in nm(*objects)
    }


def needed(kind: str, variant: str) -> str:
    """The level that a variant's file is compiled for."""
    return levels_of_functions()[f"pgq_{kind}_{variant}"]


def expected(kind: str, level: str) -> str:
    """The last row that a CPU of this level can run."""
    return [name_of(row) for row in rows(kind) if RANK[needed(kind, name_of(row))] <= RANK[level]][-1]


def ask(*cases: dict[str, str]) -> list[dict[str, Any]]:
    """The variant that each kind's entry calls in each environment, or the code that it returns."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.common.dispatch", json.dumps(cases)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    answers: list[dict[str, Any]] = json.loads(run.stdout)
    assert all(set(answer) == set(kinds()) for answer in answers)
    return answers


# ---- the tables ----------------------------------------------------------------------------------


@cache
def symbols() -> dict[int, str]:
    """The functions of the module that is loaded, by address."""
    module = Path(_pgquern.__file__).resolve()
    maps = (line.split() for line in Path("/proc/self/maps").read_text().splitlines())
    base = min(int(fields[0].partition("-")[0], 16) for fields in maps if fields[-1] == str(module))
    return {base + address: name for _, name, address in nm(module)}


def symbol_of(function: Any) -> str:
    return symbols()[int(ffi.cast("uintptr_t", function))]


@pytest.mark.parametrize("kind", kinds())
def test_each_row_runs_the_function_that_is_named_for_it(kind: str) -> None:
    assert [symbol_of(row.fn) for row in rows(kind)] == [f"pgq_{kind}_{name_of(row)}" for row in rows(kind)]


@pytest.mark.parametrize("kind", kinds())
def test_each_row_asks_for_the_level_that_its_file_is_compiled_for(kind: str) -> None:
    """Also for levels that this CPU lacks."""
    levels = [needed(kind, name_of(row)) for row in rows(kind)]
    predicates = [f"pgq_cpu_{'any' if level == 'none' else level}" for level in levels]
    assert [symbol_of(row.supported) for row in rows(kind)] == predicates


@pytest.mark.parametrize(("kind", "variant"), ROWS)
def test_a_row_is_supported_where_the_cpu_has_what_its_file_is_compiled_for(kind: str, variant: str) -> None:
    row = next(row for row in rows(kind) if name_of(row) == variant)
    assert row.supported() == (RANK[needed(kind, variant)] <= RANK[pgquern.cpu()])
    if not row.supported():
        pytest.skip(f"this CPU cannot run {kind} {variant}: its level is {pgquern.cpu()}")


def test_the_library_lists_the_rows_of_all_tables() -> None:
    listed = [(row.kind, row.variant, row.supported) for row in pgquern.all_variants()]
    assert sorted({kind for kind, _, _ in listed}) == sorted(kinds())
    for kind in kinds():
        assert [row for row in listed if row[0] == kind] == [
            (kind, name_of(row), bool(row.supported())) for row in rows(kind)
        ]


# ---- the choice ----------------------------------------------------------------------------------


def test_the_fastest_that_the_cpu_can_run_is_chosen() -> None:
    """No variable, or an empty one."""
    want = {kind: expected(kind, level_of_the_cpu()) for kind in kinds()}
    assert ask({}, {"PGQUERN_CPU": ""}, {"PGQUERN_VARIANT": ""}) == [want] * 3


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_hides_what_lies_above_it(level: str) -> None:
    if RANK[level] > RANK[level_of_the_cpu()]:
        pytest.skip(f"this CPU cannot run {level}: its level is {level_of_the_cpu()}")
    assert ask({"PGQUERN_CPU": level}) == [{kind: expected(kind, level) for kind in kinds()}]


def test_a_level_adds_nothing() -> None:
    highest = list(LEVELS)[-1]
    if level_of_the_cpu() == highest:
        pytest.skip(f"this CPU has all that {highest} could add")
    assert ask({"PGQUERN_CPU": highest}) == [{kind: expected(kind, level_of_the_cpu()) for kind in kinds()}]


def test_the_lowest_level_changes_the_choice() -> None:
    if level_of_the_cpu() == "none":
        pytest.skip("this CPU has nothing to hide")
    assert ask({"PGQUERN_CPU": "none"}) != ask({})


def test_an_unknown_level_is_refused() -> None:
    """Every kind says so, whatever PGQUERN_VARIANT is, and no kernel runs."""
    own = next(level for level in LEVELS if level != "none")
    words = ["sse2", own.upper(), f"{own} ", f" {own}", own[:-1], f"{own}2", "avx51", "avx512vbmi22", "0", *FOREIGN]
    cases = [{"PGQUERN_CPU": word} | variant for word in words for variant in ({}, {"PGQUERN_VARIANT": NAMES[0]})]
    refused = dict.fromkeys(kinds(), lib.PGQ_VARIANT)
    assert ask(*cases) == [refused] * len(cases)


def test_a_named_variant_runs_or_is_refused() -> None:
    """A kind that has the variant runs it, or refuses if the CPU lacks it. Other kinds choose as usual. This holds at
    the lowest level, too."""
    cases = [(variant, level) for variant in NAMES for level in (level_of_the_cpu(), "none")]
    answers = ask(*({"PGQUERN_VARIANT": variant, "PGQUERN_CPU": level} for variant, level in cases))
    for (variant, level), answer in zip(cases, answers, strict=True):
        for kind in kinds():
            if (kind, variant) not in ROWS:
                want: str | int = expected(kind, level)
            elif RANK[needed(kind, variant)] > RANK[level]:
                want = lib.PGQ_VARIANT
            else:
                want = variant
            assert answer[kind] == want, (kind, variant, level)


def test_an_unknown_variant_is_refused_by_every_kind() -> None:
    words = ["unknown", NAMES[0].upper(), NAMES[0][:-1], NAMES[0] + " ", NAMES[0] * 2]
    assert ask(*({"PGQUERN_VARIANT": word} for word in words)) == [dict.fromkeys(kinds(), lib.PGQ_VARIANT)] * 5


def test_a_pair_chooses_for_its_kind_alone() -> None:
    """Other kinds choose as usual, or follow a bare name before the pair. The last item that applies to a kind
    counts."""

    def lists(kind: str, variant: str) -> list[str]:
        first, pair = name_of(rows(kind)[0]), f"{kind}={variant}"
        return [pair, f"{first},{pair}", f"{pair},{kind}={first}"]

    ordinary, *answers = ask({}, *({"PGQUERN_VARIANT": text} for row in ROWS for text in lists(*row)))
    for (kind, variant), alone, after, twice in zip(ROWS, answers[::3], answers[1::3], answers[2::3], strict=True):
        first = name_of(rows(kind)[0])
        bare = {k: first if (k, first) in ROWS else v for k, v in ordinary.items()}
        runs = RANK[needed(kind, variant)] <= RANK[level_of_the_cpu()]
        want = variant if runs else lib.PGQ_VARIANT
        assert alone == ordinary | {kind: want}
        assert after == bare | {kind: want}
        assert twice == ordinary | {kind: first}


def test_a_pair_that_names_nothing_is_refused_by_every_kind() -> None:
    """At any place in the list: an unknown kind, an unknown variant of the kind, or an empty item."""
    kind = kinds()[0]
    mine = [name_of(row) for row in rows(kind)]
    foreign = next(name for name in NAMES if name not in mine)
    bad = [
        f"nokind={mine[0]}", f"{kind[:-1]}={mine[0]}", f"{kind}s={mine[0]}", f"={mine[0]}",
        f"{kind}={foreign}", f"{kind}={mine[0][:-1]}", f"{kind}={mine[0]}s", f"{kind}=", f"{kind}={mine[0]}={mine[0]}",
        "", kind, f" {mine[0]}",
    ]  # fmt: skip
    words = [list_ for word in bad for list_ in (f"{mine[0]},{word}", f"{word},{mine[0]}")]
    assert ask(*({"PGQUERN_VARIANT": word} for word in words)) == [dict.fromkeys(kinds(), lib.PGQ_VARIANT)] * len(words)


# ---- codes and their texts -----------------------------------------------------------------------


def test_each_code_has_a_text_of_its_own() -> None:
    """A number that is no code has a text that says so."""
    codes = ffi.typeof("pgq_code").elements
    texts = {code: ffi.string(lib.pgq_strerror(code)).decode("ascii") for code in codes}
    assert len(set(texts.values())) == len(texts)
    assert all(len(text) > len("no error") for code, text in texts.items() if code != lib.PGQ_OK)
    unknown = {ffi.string(lib.pgq_strerror(code)) for code in (max(codes) + 1, 1000)}
    assert unknown == {b"not a pgquern status code"}


def test_the_text_on_the_environment_names_both_variables_and_every_level() -> None:
    text = str(pgquern.PgquernError(lib.PGQ_VARIANT))
    assert {"PGQUERN_VARIANT", "PGQUERN_CPU", *LEVELS, *FOREIGN} <= set(
        text.replace(",", " ").replace(";", " ").split()
    )
