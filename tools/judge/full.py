# SPDX-License-Identifier: PostgreSQL
"""What FULL=1 adds to a trial: more examples, the stem's fuzz target, the tests with real servers."""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.runners import fuzz
from tools.common.kernels import kernel_sources
from tools.common.tally import tally, words
from tools.judge.build import Candidate, compile_candidate
from tools.judge.kinds import CALL, JudgeError
from tools.judge.run import Outcome, Run
from tools.judge.verdict import Verdict

OBJECTS = Path("build/obj-fuzz")
SECONDS = 60


@dataclass(frozen=True)
class Asked:
    """What is asked for beyond the usual steps."""

    cflags_fuzz: Sequence[str]


def more_examples(binding: Path, seed: int) -> list[tuple[str, str, Run]]:
    """Two runs of four times as many examples, of seeds of their own."""
    says = "the same tests with four times as many examples, and other ones"
    return [(f"more examples (seed {seed + i})", says, Run(f"more-{i}", binding, "ci", seed=seed + i)) for i in (1, 2)]


def with_servers(candidate: Candidate, binding: Path) -> list[tuple[str, str, Run]]:
    """The stem's tests with real servers, if it has any: the candidate is the variant that is dispatched."""
    file = Path("tests", candidate.kind.stem, "test_servers.py")
    run = Run("servers", binding, "brief", only=(str(file),), limits=False)
    return [("real servers", "real pages and arrays, and what PostgreSQL's own functions answer", run)] * file.exists()


def build_fuzz(candidate: Candidate, cflags: Sequence[str]) -> Path:
    """The stem's fuzz target with the candidate in its table. JudgeError."""
    stem, folder = candidate.kind.stem, candidate.folder / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    made = subprocess.run(["make", "-s", f"build/fuzz/{stem}"], capture_output=True, text=True, env=environment)
    if made.returncode:
        raise JudgeError(f"The fuzz target does not build; repair this clone:\n{made.stderr[-3000:]}")
    compile_candidate(replace(candidate, compiler="clang"), cflags, folder / "candidate.o")
    own = candidate.kind.table()
    objects = [OBJECTS / s.relative_to("csrc").with_suffix(".o") for s in kernel_sources() if s != own]
    linker = "clang++" if candidate.is_cplusplus else "clang"
    subprocess.run(["clang", *cflags, "-c", candidate.folder / "variants.c", "-o", folder / "variants.o"], check=True)
    subprocess.run(["clang", *cflags, "-c", f"tests/{stem}/fuzz.c", "-o", folder / "fuzz.o"], check=True)
    linked = subprocess.run(
        [linker, "-fsanitize=fuzzer,address,undefined", folder / "fuzz.o", folder / "variants.o",
         folder / "candidate.o", *objects, f"-Wl,--defsym={CALL}=candidate", *shlex.split(candidate.flags),
         "-o", folder / "target"],
        capture_output=True, text=True,
    )  # fmt: skip
    if linked.returncode:
        raise JudgeError(f"{candidate.source} does not link into the fuzz target:\n{linked.stderr[-3000:]}")
    return folder / "target"


def fuzzed(candidate: Candidate, cflags: Sequence[str], seed: int) -> Outcome:
    """A minute of the stem's fuzz target under both sanitizers."""
    target = build_fuzz(candidate, cflags)
    with tempfile.TemporaryDirectory() as corpus:
        fuzz.write_seeds(Path(corpus), candidate.kind.stem)
        done = subprocess.run(
            [target, f"-max_total_time={SECONDS}", f"-seed={seed % 2**31 or 1}", f"-max_len={fuzz.MAX_LEN}",
             "-print_final_stats=1", "-detect_leaks=0", f"-artifact_prefix={candidate.folder}/fuzz/", corpus],
            capture_output=True, text=True, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
        )  # fmt: skip
    if done.returncode:
        told = re.search(r"^(?:SUMMARY: |fuzz )(.*)$", done.stderr, re.MULTILINE)
        said = re.search(r"^fuzz \w+: (.*)$", done.stderr, re.MULTILINE) or told
        saved = re.search(r"Test unit written to (\S+)", done.stderr)
        why = f"the fuzzer found an input: {said[1] if said else 'it crashed'}"
        return Outcome(Verdict("FAIL", why, f"tests/{candidate.kind.stem}/fuzz.c", saved[1] if saved else ""))
    runs = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    return Outcome(None, f"{int(runs[1]) if runs else 0:,} inputs: {words(tally(done.stderr))}")
