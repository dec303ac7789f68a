# SPDX-License-Identifier: PostgreSQL
"""Prove C text for every input up to a bound, by CBMC.

proofs/STEM/bounded.toml lists the proofs. Each has a harness in proofs/STEM/bounded/: it takes any input, calls the C
code, and claims what must hold. CBMC also checks what C leaves undefined, and that no loop goes beyond the bound. Each
proof runs again with one broken line of C, which must refute it. Without CBMC all are reported as skipped.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel, ConfigDict

from tools.common import results
from tools.common.matrix import with_cell
from tools.common.progress import console

LISTING = "proofs/{stem}/bounded.toml"
WORK = results.scratch(Path("build/prove-c"))
LEAST = 6
"""The first major version whose standard checks are on by themselves. Debian 13 has 6.6; Debian 12's is too old."""
CPU_SECONDS = 900
"""Of one run. CPU time, since a busy machine changes no verdict."""
CHECKS = ["--unwinding-assertions", "--slice-formula", "--pointer-overflow-check", "--undefined-shift-check"]
CLAIM = "claim: "


class Broken(BaseModel):
    """`old`, which occurs once in csrc/`file`, becomes `new`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    old: str
    new: str

    def make(self, csrc: Path) -> None:
        text = (csrc / self.file).read_text()
        if text.count(self.old) != 1:
            raise ToolBrokenError(f"'{self.old}' occurs {text.count(self.old)} times in {self.file}, not once")
        (csrc / self.file).write_text(text.replace(self.old, self.new))


class Proof(BaseModel):
    """One run of CBMC, on proofs/STEM/bounded/`harness` and the C files in `source`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    says: str
    """One sentence: what holds, and up to which bound, if there is one."""
    harness: str
    source: list[str] = []
    """Files of csrc/; none if the harness includes them."""
    define: dict[str, str | int] = {}
    unwind: int
    """More rounds than any loop may take."""
    broken: Broken
    """With which it must not hold: a proof that cannot fail proves nothing."""


class ToolMissingError(Exception):
    """CBMC is not installed, or too old, and nobody named one; says where it is to be had."""


class ToolBrokenError(Exception):
    """What was named as CBMC, or an input to it, does not work; says what to do."""


def listed(stem: str) -> list[Proof]:
    entries = tomllib.loads(Path(LISTING.format(stem=stem)).read_text())["proof"]
    return [Proof.model_validate(entry) for entry in entries]


def find() -> tuple[str, str]:
    """CBMC's command and version. Raises ToolMissingError, or ToolBrokenError if CBMC= names something else."""
    named = os.environ.get("CBMC")
    path = shutil.which(named or "cbmc")
    if path is None and named:
        raise ToolBrokenError(f"CBMC={named} is no program; name a cbmc of version {LEAST} or newer")
    if path is None:
        raise ToolMissingError(
            f"no CBMC: put cbmc {LEAST} or newer on PATH (Debian 13 has it), or set CBMC=/path/to/cbmc"
        )
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"(\d+)\.[\d.]*", said)
    if version is None:
        raise ToolBrokenError(f"'{path} --version' says {said.strip()!r}; name a cbmc of version {LEAST} or newer")
    if int(version[1]) < LEAST:
        raise ToolMissingError(f"no CBMC: {path} is {version[0]}, and {LEAST} or newer is needed")
    return path, version[0]


def check(cbmc: str, sources: list[Path], options: list[str]) -> tuple[int, list[str]]:
    """Run CBMC on the function `proof`: how many checks there are, and what is wrong. Raises ToolBrokenError."""
    command = ["prlimit", f"--cpu={CPU_SECONDS}", cbmc, *map(str, sources), "--function", "proof", *CHECKS, "--json-ui"]
    run = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise ToolBrokenError(f"CBMC came to no end in {CPU_SECONDS} s of CPU; lower the bound")
    try:
        said = json.loads(run.stdout)
    except json.JSONDecodeError as error:
        raise ToolBrokenError(f"CBMC ended with {run.returncode}: {(run.stdout + run.stderr)[-500:]}") from error
    checks = next((entry["result"] for entry in said if "result" in entry), None)
    if checks is None:
        errors = [entry["messageText"] for entry in said if entry.get("messageType") == "ERROR"]
        raise ToolBrokenError(f"CBMC ended with {run.returncode}: {'; '.join(errors)[-500:]}")
    failed = [each["description"] for each in checks if each["status"] != "SUCCESS"]
    claims = any(each["description"].startswith(CLAIM) for each in checks)
    return len(checks), failed if claims else ["it claims nothing"]


def attempt(cbmc: str, stem: str, proof: Proof, broken: Broken | None) -> tuple[int, list[str]]:
    """The proof on a copy of csrc/, with a broken line if one is given."""
    csrc = WORK / stem / re.sub(r"\W+", "_", proof.name) / ("broken" if broken else "whole")
    shutil.rmtree(csrc, ignore_errors=True)
    shutil.copytree("csrc", csrc, ignore=shutil.ignore_patterns("ffi"))
    if broken:
        broken.make(csrc)
    sources = [Path("proofs", stem, "bounded", proof.harness), *(csrc / file for file in proof.source)]
    options = [f"-I{csrc}", "-Iproofs/bounded", "--unwind", str(proof.unwind)]
    return check(cbmc, sources, options + [f"-D{name}={value}" for name, value in proof.define.items()])


def prove(cbmc: str, stem: str, proof: Proof) -> dict[str, Any]:
    """The item of its result."""
    started, count = time.monotonic(), 0
    try:
        count, failed = attempt(cbmc, stem, proof, None)
        reason = f"not proved: {'; '.join(failed[:3])}" if failed else ""
        if not failed and not attempt(cbmc, stem, proof, proof.broken)[1]:
            reason = f"it holds, too, with '{proof.broken.new}' in {proof.broken.file}"
    except ToolBrokenError as error:
        reason = str(error)
    seconds = time.monotonic() - started
    console().print(f"  {stem}, {proof.name}: {reason or f'{count} checks'} ({seconds:.0f} s)", markup=False)
    status = "failed" if reason else "passed"
    return {"name": proof.name, "status": status, "reason": reason, "seconds": seconds, "says": proof.says}


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--only", default="", help="Only names with this in them; then no result is written.")
@click.option("--jobs", default=2, help="So many at a time.")
def main(stem: str, only: str, jobs: int) -> None:
    missing, cbmc, version = "", "", ""
    try:
        cbmc, version = find()
    except ToolMissingError as error:
        missing = str(error)
    except ToolBrokenError as error:
        raise click.ClickException(str(error)) from error
    failed = 0
    for name in with_cell(LISTING, stem):
        proofs = [proof for proof in listed(name) if only in proof.name]
        items = [{"name": proof.name, "status": "skipped", "reason": missing} for proof in proofs]
        if not missing:
            with ThreadPoolExecutor(jobs) as pool:
                items = list(pool.map(lambda proof, its=name: prove(cbmc, its, proof), proofs))
        proved = sum(item["status"] == "passed" for item in items)
        failed += sum(item["status"] == "failed" for item in items)
        says = f"{proved} of {len(items)} proofs of C text hold, and each fails with one broken line"
        if not only:
            results.write("prove-c", name, items, says=says, tools={} if missing else {"CBMC": version})
        console().print(f"prove-c, {name}: {f'SKIPPED, {missing}' if missing else says}", markup=False)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
