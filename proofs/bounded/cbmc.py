# SPDX-License-Identifier: PostgreSQL
"""CBMC, the bounded model checker for C, if it is installed (Debian 13 has 6.6; the one of Debian 12 is too old)."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from proofs.ctext.outcome import Checked, ToolBrokenError, ToolMissingError

LEAST = 6
"""The first major version whose standard checks are on by themselves."""
CPU_SECONDS = 900
"""Of one run. CPU time, since a busy machine changes no verdict."""
CHECKS = ["--unwinding-assertions", "--slice-formula", "--pointer-overflow-check", "--undefined-shift-check"]
CLAIM = "claim: "


@cache
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
    return path, f"CBMC {version[0]}"


def check(
    sources: Sequence[Path],
    includes: Sequence[Path],
    defines: Sequence[str],
    unwind: int,
    loops: Mapping[str, int] = MappingProxyType({}),
    machine: str = "",
) -> Checked:
    """Run CBMC on the function `proof`. Raises ToolBrokenError if it comes to no verdict."""
    path, _ = find()
    command = [path, *map(str, sources), "--function", "proof", "--unwind", str(unwind), *CHECKS, "--json-ui"]
    command += [f"-I{folder}" for folder in includes] + [f"-D{define}" for define in defines]
    command += [option for name, rounds in loops.items() for option in ("--unwindset", f"{name}:{rounds}")]
    command += ["--arch", machine] if machine else []
    limited = ["prlimit", f"--cpu={CPU_SECONDS}", *command]
    run = subprocess.run(limited, capture_output=True, text=True, check=False)
    if run.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise ToolBrokenError(f"CBMC came to no end in {CPU_SECONDS} s of CPU; lower the bound")
    try:
        said = json.loads(run.stdout)
    except json.JSONDecodeError as error:
        raise ToolBrokenError(f"CBMC ended with {run.returncode}: {(run.stdout + run.stderr)[-500:]}") from error
    results = next((entry["result"] for entry in said if "result" in entry), None)
    if results is None:
        errors = [entry["messageText"] for entry in said if entry.get("messageType") == "ERROR"]
        raise ToolBrokenError(f"CBMC ended with {run.returncode}: {'; '.join(errors)[-500:]}")
    failed = [result["description"] for result in results if result["status"] != "SUCCESS"]
    claims = sum(result["description"].startswith(CLAIM) for result in results)
    return Checked(len(results), failed, "" if claims else "it claims nothing")
