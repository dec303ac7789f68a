# SPDX-License-Identifier: PostgreSQL
"""Run the models and hold what they show against spec/manifest.json.

    spec/run.py                    every configuration (5 minutes)
    spec/run.py --only small       without the large ones
    spec/run.py --stem compaction  those of one subject
    spec/run.py --accept           write what was found to the manifest and the README's table, for review

Exits with 0 iff nothing failed. Results: build/results/model.json; the tools' output: build/model/STEM/NAME/log.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import manifest, readme, results, traces
from spec.tools.configs import Config, ConfigError, discover, unbroken
from spec.tools.outcome import ToolMissing
from spec.tools.runner import run_all

SPEC = Path("spec")


def say(text: str) -> None:
    print(f"model: {text}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the models and compare with the manifest.")
    parser.add_argument("--stem", help="only the models of this subject (a folder of spec/)")
    parser.add_argument("--only", choices=["small", "large"], help="only the quick ones, or only the large ones")
    parser.add_argument("--accept", action="store_true", help="write the manifest instead of comparing with it")
    parser.add_argument("--jobs", type=int, default=2, help="models at once (2)")
    parser.add_argument("--build", type=Path, default=Path("build"), help="where generated things go (build)")
    options = parser.parse_args()
    try:
        configs = discover(SPEC, options.stem)
    except ConfigError as error:
        say(str(error))
        return 2
    wanted = [config for config in configs if options.only is None or config.small == (options.only == "small")]
    traces.generate(SPEC, options.build)
    began = time.monotonic()
    path = SPEC / "manifest.json"
    try:
        items = run_all(wanted, manifest.load(path), options.build, options.jobs, accept=options.accept)
    except ToolMissing as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    wall = time.monotonic() - began

    if options.accept:
        passed = [item for item in items if item.status == "passed"]
        found = {manifest.key(item.config): manifest.entry(item.config, item.outcome) for item in passed}
        manifest.accept(path, configs, found, whole=options.stem is None)
        readme.write(SPEC / "README.md", discover(SPEC), manifest.load(path))
    complaints = [f"no model that must fail violates {name}; add a mutant" for name in unbroken(configs)]
    complaints += [f"{action} is never taken in a large model" for action in results.never_taken(items)]
    if options.stem is None:
        complaints += house(configs)
    for complaint in complaints:
        say(complaint)
    written = options.build / "results" / "model.json"
    results.write(written, items, complaints, wall)
    results.summary(items, complaints, written, wall)
    failed = any(item.status == "failed" for item in items)
    return 1 if failed or complaints else 0


def house(configs: list[Config]) -> list[str]:
    """What is wrong with the manifest and the README as a whole."""
    accepted = manifest.load(SPEC / "manifest.json")
    stray = sorted(accepted.keys() - {manifest.key(config) for config in configs})
    wrong = [
        f"the manifest has {name}, but there is no such configuration; 'make model-accept' drops it" for name in stray
    ]
    if stale := readme.differs(SPEC / "README.md", configs, accepted):
        wrong.append(f"the table in spec/README.md is not the manifest's: {stale}; 'make model-accept' rewrites it")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
