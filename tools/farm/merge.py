# SPDX-License-Identifier: PostgreSQL
"""The results of all shards, joined by layer and stem into the usual ones.

A shard that is missing, of another state of the sources, or there twice is an error, and then that layer and stem get
no result. A shard that failed is part of the whole, which then failed.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.common import results, shards
from tools.common.results import Result
from tools.farm import job
from tools.farm.work import FARM, Work, environment, stem_word


def place(work: Work, tree: str) -> tuple[Path | None, str]:
    """Where the result of a shard is; or what is wrong with it."""
    path = next((path for path in (job.good(work), job.bad(work)) if path.is_file()), None)
    if path is None:
        return None, f"no result; its log, if it began: {job.log(work)}"
    of = getattr(results.read(path), "tree", "")
    return (path, "") if of == tree else (None, "its result is of other sources; `make farm` runs it anew")


def gathered(works: Sequence[Work], tree: str) -> tuple[Path, dict[str, str]]:
    """A folder with the results of all shards of a kind and stem; and what is wrong with those that are not in it."""
    folder = FARM / "joined" / works[0].what / works[0].shard.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wrong = {}
    for work in works:
        path, reason = place(work, tree)
        if path is None:
            wrong[work.key] = reason
        else:
            shutil.copy(path, folder / f"{work.shard.name}.json")
    return folder, wrong


def join(works: Sequence[Work], folder: Path, into: Path = results.RESULTS) -> Result:
    """One result of the shards in a folder, written where the layer's is. Raises ShardError if they make no whole."""
    kind, stem = works[0].kind, works[0].shard.stem
    of = shards.load(folder)
    if kind.join:
        path = into / kind.layer / f"{stem}.json"
        path.unlink(missing_ok=True)
        command = ["make", "-s", *kind.target.split(), *stem_word(stem), f"JOIN={folder}"]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        if not path.is_file():
            said = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise shards.ShardError(f"`{' '.join(command)}` ended with {done.returncode}: {' '.join(said)}")
        return results.read(path)
    items = [item.model_dump() for shard in of for item in shard.items]
    passed = sum(item["status"] == "passed" for item in items)
    skipped = sum(item["status"] == "skipped" for item in items)
    says = of[0].says if len(of) == 1 else f"{len(items)} in {len(of)} shards: {passed} passed, {skipped} skipped"
    seconds = sum(shard.seconds for shard in of)
    return results.write(
        kind.layer, stem, items, says=says, tools=shards.tools(of), seconds=seconds, folder=into, of=of
    )


def merge(listed: Sequence[Work], tree: str) -> tuple[list[Result], Mapping[str, str]]:
    """Join all. The results, and what is wrong, by shard or by kind and stem, each with the command to repeat it."""
    groups: dict[tuple[str, str], list[Work]] = {}
    for work in listed:
        groups.setdefault((work.what, work.shard.stem), []).append(work)
    found, wrong = [], {}
    for (what, stem), works in groups.items():
        folder, missing = gathered(works, tree)
        for work in works:
            if work.key in missing:
                wrong[work.key] = f"{missing[work.key]}; to repeat it: {' '.join(work.command)}"
        if missing:
            continue
        try:
            found.append(join(works, folder))
        except shards.ShardError as error:
            wrong[f"{what}/{stem}"] = f"{error}; to repeat it: make farm WHAT={what} STEM={stem}"
    return found, wrong


def failures(listed: Sequence[Work]) -> dict[str, str]:
    """By shard, the command to repeat those in which something failed."""
    return {work.key: " ".join(work.command) for work in listed if job.bad(work).is_file()}
