# SPDX-License-Identifier: PostgreSQL
"""Run the models and hold what they show against spec/manifest.json.

    spec/run.py                    every configuration (2 minutes)
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

from spec.tools import manifest, readme, results
from spec.tools.configs import ConfigError, discover
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
    narrowed = options.stem is not None or options.only is not None
    configs = [config for config in configs if options.only is None or config.small == (options.only == "small")]
    accepted = manifest.load(SPEC / "manifest.json")
    began = time.monotonic()
    try:
        items = run_all(configs, accepted, options.build, options.jobs, accept=options.accept)
    except ToolMissing as error:
        say(str(error))
        return 2

    wall = time.monotonic() - began
    failed = sum(item.status == "failed" for item in items)
    if options.accept:
        found = {
            manifest.key(item.config): manifest.entry(item.config, item.outcome)
            for item in items
            if item.status == "passed"
        }
        manifest.accept(SPEC / "manifest.json", configs, found, whole=not narrowed)
        accepted = manifest.load(SPEC / "manifest.json")
        readme.write(SPEC / "README.md", discover(SPEC), accepted)
    stray = [] if narrowed else sorted(accepted.keys() - {manifest.key(config) for config in configs})
    for name in stray:
        say(f"the manifest has {name}, but there is no such configuration; 'make model-accept' drops it")
    stale = "" if options.stem else readme.differs(SPEC / "README.md", discover(SPEC), accepted)
    if stale:
        say(f"the table in spec/README.md differs from the manifest: {stale}; 'make model-accept' rewrites it")
    results.write(options.build / "results" / "model.json", items, [*stray, *([stale] if stale else [])], wall)
    results.summary(items, options.build / "results" / "model.json", wall)
    return 1 if failed or stray or stale else 0


if __name__ == "__main__":
    sys.exit(main())
