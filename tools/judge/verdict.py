# SPDX-License-Identifier: PostgreSQL
"""What a run of the tests says of a candidate: read off how the process ended, and pytest's report."""

import re
import signal
import textwrap
from dataclasses import dataclass
from typing import Any

from tools.judge.kinds import JudgeError

KEEPER = 70
"""The exit code by which tools/judge/cage.c says that it could not do its own work."""
BROKEN = re.compile(r"^judge: (.*)$", re.MULTILINE)
"""How a part of the contract is named that a call has broken: tools/judge/cage.c, watch.h."""
EXAMPLE = re.compile(r"\s*(Falsifying example|Failing test case): ")
"""How Hypothesis announces the smallest input: its versions differ."""
SANITIZER = re.compile(
    r"^(?:SUMMARY: (?P<asan>AddressSanitizer: .*)|.*?(?P<ubsan>\S+: runtime error: .*))$", re.MULTILINE
)


@dataclass(frozen=True)
class Verdict:
    """What came out, and why."""

    word: str
    why: str
    test: str = ""
    """The test that failed."""
    input: str = ""
    """The smallest input with which it failed, as Hypothesis prints it."""
    unexplained: bool = False
    """The process ended, and nobody said why."""


def example(text: str) -> str:
    """Hypothesis' falsifying example in what pytest says of a failure; empty if there is none."""
    lines = [re.sub(r"^E {3}", "", line) for line in text.splitlines() if line.startswith("E")]
    start = next((i for i, line in enumerate(lines) if EXAMPLE.match(line)), None)
    if start is None:
        return ""
    found = []
    for line in lines[start:]:
        found.append(line.rstrip())
        if line.strip() == ")" or (line.rstrip().endswith(")") and len(found) == 1):
            break
    return EXAMPLE.sub("", textwrap.dedent("\n".join(found))).strip()


def message(text: str, test: str) -> str:
    """What an assertion says, and what it compares, in what pytest says of a failure. A bare one speaks by its test."""
    lines = [line[1:].strip().removeprefix("AssertionError: ") for line in text.splitlines() if line.startswith("E")]
    if lines and lines[0].startswith(("assert ", "Failed: DID NOT RAISE")):
        name = re.sub(r"\[.*", "", test.rpartition("::")[2]).removeprefix("test_").replace("_", " ")
        return f'it fails the test "{name}": {lines[0].removeprefix("Failed: ")}'
    compared = lines[1:2] if len(lines) > 1 and lines[1].startswith("assert ") else []
    return "; ".join(lines[:1] + compared) or text.strip().rpartition("\n")[2]


def of_process(code: int, asleep: bool, test: str, log: str) -> Verdict | None:
    """The verdict on a process that ended without a word; None if it was no fault of the candidate's."""
    where = f"in {test}" if test else "outside of any test"
    if asleep:
        return Verdict("FAIL", f"it waits for ever {where}", test)
    if code == KEEPER:
        return None
    if broken := BROKEN.search(log):
        return Verdict("FAIL", f"{broken[1]}, {where}", test)
    if found := SANITIZER.search(log):
        return Verdict("FAIL", f"{found['asan'] or found['ubsan']}, {where}", test)
    if -code == signal.SIGXCPU:
        return Verdict("FAIL", f"it comes to no end {where}", test)
    if code < 0:
        return Verdict(
            "FAIL", f"it crashes with {signal.Signals(-code).name} {where}: an access beyond a buffer?", test
        )
    if not test:
        return None
    words = [line for line in log.splitlines() if re.sub(r"[.\s]|\[ *\d+%\]", "", line)]
    last = f"; the last words are: {words[-1]}" if words else ""
    return Verdict("FAIL", f"it ends the process, with {code}, {where}{last}", test, unexplained=True)


def of_report(told: dict[str, Any], log: str, *, may_rest: bool = False) -> Verdict | None:
    """The verdict on what the tests told; None: nothing against the candidate. may_rest: it need not be called."""
    if told["code"] == 0:
        called = may_rest or any(told["calls"].values())
        return None if called else Verdict("UNDECIDED", "no test has called it")
    if told["node"] and told["code"] == 1 and "hypothesis.errors.Flaky" in told["text"]:
        return Verdict("FAIL", "with the same input it answers now one way, now another", told["node"])
    if told["node"] and told["code"] == 1:
        return Verdict("FAIL", message(told["text"], told["node"]), told["node"], example(told["text"]))
    if told["code"] == 1 and (leak := re.search(r"^(tests/\S+/leaks) FAILED: (.*)$", log, re.MULTILINE)):
        return Verdict("FAIL", f"it leaks memory: {leak[2]}", leak[1])
    raise JudgeError(f"The tests could not run (pytest ended with {told['code']}); repair this clone:\n{log[-3000:]}")
