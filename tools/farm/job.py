# SPDX-License-Identifier: PostgreSQL
"""One shard, as a job: its target of make with a folder of its own for results and for what it builds."""

import json
import shutil
import subprocess
import time
from pathlib import Path

from tools.common import results
from tools.common.results import Result
from tools.farm.work import FARM, FarmError, Work, environment

SHOWN = 15
"""Lines of a log that are shown where a job leaves no result."""


def good(work: Work) -> Path:
    """The result of a shard that passed."""
    return FARM / "shards" / f"{work.key}.json"


def bad(work: Work) -> Path:
    """The result of a shard in which something failed. It is no output of a job, so the next `make farm` repeats it."""
    return FARM / "failed" / f"{work.key}.json"


def log(work: Work) -> Path:
    """What the target printed."""
    return FARM / "logs" / f"{work.key}.log"


def run(work: Work, tree: str) -> str:
    """Run the shard, and write its result. What went wrong, empty if all passed."""
    folder, began = (FARM / "running" / work.key).resolve(), time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    for path in (folder, log(work).parent, good(work).parent, bad(work).parent):
        path.mkdir(parents=True, exist_ok=True)
    for path in (good(work), bad(work)):
        path.unlink(missing_ok=True)
    apart = environment() | {"PGQUERN_RESULTS": str(folder)}
    with log(work).open("w") as output:
        code = subprocess.run(work.command, env=apart, stdout=output, stderr=subprocess.STDOUT).returncode
    try:
        result = taken(work, folder)
    except FarmError as error:
        tail = "\n".join(log(work).read_text(errors="replace").splitlines()[-SHOWN:])
        return f"{error} (make ended with {code}; log: {log(work)})\n{tail}"
    failed = [item for item in result.items if item.status == "failed"]
    if code and not failed:
        return f"make ended with {code}, though nothing failed in its result (log: {log(work)})"
    told = result.model_dump(mode="json") | {"tree": tree, "job_seconds": round(time.monotonic() - began, 1)}
    into = bad(work) if failed else good(work)
    half = into.with_suffix(".half")
    half.write_text(json.dumps(told, indent=1) + "\n")
    half.replace(into)
    shutil.rmtree(folder, ignore_errors=True)
    return "; ".join(f"{item.name}: {item.reason}" for item in failed)


def taken(work: Work, folder: Path) -> Result:
    """The one result that the target has written."""
    found = [results.read(path) for path in folder.glob("*/*.json")]
    if len(found) != 1:
        raise FarmError(f"it left {len(found)} results, not one")
    result = found[0]
    if (result.layer, result.stem) != (work.kind.layer, work.shard.stem):
        raise FarmError(f"it left a result of {result.layer} {result.stem}")
    if not result.items:
        raise FarmError("its result is empty")
    return result
