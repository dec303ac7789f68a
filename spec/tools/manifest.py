# SPDX-License-Identifier: PostgreSQL
"""The manifest: what every configuration was last accepted to show, in the form of the tlaplus/Examples manifests."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spec.tools.configs import Config
from spec.tools.outcome import Outcome

Entry = dict[str, Any]


def key(config: Config) -> str:
    """How the manifest names a configuration: its path from the folder of the models on."""
    return f"{config.stem}/{config.path.name}"


def load(path: Path) -> dict[str, Entry]:
    """The entries by configuration."""
    if not path.is_file():
        return {}
    return {
        model["path"]: model
        for spec in json.loads(path.read_text())["specifications"]
        for module in spec["modules"]
        for model in module["models"]
    }


def entry(config: Config, outcome: Outcome) -> Entry:
    """What the manifest says of a run that is as it must be. Counts only where they are the same in every run."""
    found: Entry = {"path": key(config), "mode": mode(config), "result": outcome.result}
    if outcome.result == "violation":
        found |= {"violates": outcome.property, "traceLength": outcome.trace_length}
    elif not config.symbolic:
        found |= {"distinctStates": outcome.distinct, "totalStates": outcome.total, "stateDepth": outcome.depth}
    if config.symbolic:
        found |= {"length": config.length}
    seconds = round(outcome.seconds)
    return found | {"runtime": f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}", "tool": outcome.tool}


def mode(config: Config) -> str:
    """The sort of search, in the words of the kinds."""
    if config.symbolic:
        return f"symbolic {config.kind}"
    return config.kind if config.must_fail else f"exhaustive {config.kind}"


def differences(config: Config, outcome: Outcome, accepted: Entry | None) -> list[str]:
    """Why this run is not the one accepted; empty if it is. Total states and time may differ, nothing else."""
    wrong = unfit(config, outcome)
    if wrong:
        return wrong
    if accepted is None:
        return ["not in the manifest; review it, then 'make model-accept'"]
    now = entry(config, outcome)
    free = {"totalStates", "runtime", "tool"}
    return [
        f"{name}: accepted {accepted.get(name)}, now {now.get(name)}"
        for name in sorted((accepted.keys() | now.keys()) - free)
        if accepted.get(name) != now.get(name)
    ]


def unfit(config: Config, outcome: Outcome) -> list[str]:
    """Why this run can't even be accepted: its kind and its head say what it must show."""
    if outcome.result == "error":
        return [outcome.reason]
    if config.must_fail and outcome.result == "success":
        return [f"must fail on {config.violates}, but passed"]
    if config.must_fail and outcome.property != config.violates:
        return [f"must fail on {config.violates}, but failed on {outcome.property}"]
    if not config.must_fail and outcome.result == "violation":
        return [f"{outcome.property} is violated, after {outcome.trace_length} states"]
    return []


def accept(path: Path, configs: Iterable[Config], found: dict[str, Entry], whole: bool) -> None:
    """Write what was found into the manifest; ``whole`` drops what there is no configuration for any more."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = load(path) | found
        if whole:
            entries = {name: entries[name] for name in map(key, configs) if name in entries}
        specifications = []
        for stem in sorted({name.split("/")[0] for name in entries}):
            modules: dict[str, list[Entry]] = {}
            for name in sorted(entries):
                if name.startswith(f"{stem}/"):
                    modules.setdefault(module_of(path.parent / name), []).append(entries[name])
            specifications.append(
                {
                    "path": stem,
                    "modules": [{"path": f"{stem}/{module}", "models": models} for module, models in modules.items()],
                }
            )
        path.write_text(json.dumps({"specifications": specifications}, indent=2) + "\n")
    path.with_suffix(".lock").unlink(missing_ok=True)


def module_of(config: Path) -> str:
    """The module's file name, by the configuration's."""
    candidates = [module.name for module in config.parent.glob("*.tla") if config.stem.startswith(module.stem + "_")]
    return max(candidates, key=len)
