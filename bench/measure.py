# SPDX-License-Identifier: PostgreSQL
"""Runs a stem's binary, one process a configuration. harness.h says how the variants of a configuration are measured.

A benchmark's name is `stem/key=value/.../variant=V`; all but the variant is its configuration.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from bench.goals import Config, Times
from tools.common import environment

Key = tuple[tuple[str, str], ...]


def skipped(variant: str) -> dict[str, str]:
    """The item of a result that says that a variant did not run here."""
    reason = f"this CPU lacks it (PGQUERN_CPU: {environment.cpu_level()})"
    return {"name": f"variant {variant}", "status": "skipped", "reason": reason}


def split_name(name: str) -> tuple[Config, str]:
    """('stem/n=10/variant=pg14/iterations:1/manual_time') -> ({'n': '10'}, 'pg14')."""
    fields = dict(part.split("=", 1) for part in name.split("/") if "=" in part)
    return {k: v for k, v in fields.items() if k != "variant"}, fields["variant"]


def list_configs(binary: Path) -> list[tuple[Config, str]]:
    """Every configuration of the binary, with the regular expression that picks its variants."""
    done = subprocess.run([binary, "--benchmark_list_tests"], capture_output=True, text=True, check=True)
    found: dict[Key, tuple[Config, str]] = {}
    for name in done.stdout.split():
        config, _ = split_name(name)
        prefix = name.split("/variant=")[0]
        # Google Benchmark's regular expressions are POSIX's: only what needs a backslash may have one.
        found.setdefault(tuple(config.items()), (config, "^" + prefix.replace(".", "[.]") + "/variant="))
    return list(found.values())


def _rounds(binary: Path, pattern: str, rounds: int) -> list[tuple[str, float]]:
    """(variant, nanoseconds) of so many rounds of one configuration, in the order of the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [
            str(binary),
            f"--benchmark_filter={pattern}",
            f"--benchmark_repetitions={rounds}",
            f"--benchmark_out={out}",
            "--benchmark_out_format=json",
        ]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode or not out.exists() or not out.stat().st_size:
            raise click.ClickException(f"{binary} failed:\n{ran.stderr[-2000:]}")
        rows = [row for row in json.loads(out.read_text())["benchmarks"] if row["run_type"] == "iteration"]
    rows.sort(key=lambda row: row.get("repetition_index", 0))
    return [(split_name(row["name"])[1], row["real_time"]) for row in rows]


def measure(
    binary: Path,
    wanted: Sequence[tuple[Config, str]],
    *,
    runs: int,
    rounds: Callable[[Config], int],
    done: Callable[[str], None],
) -> list[tuple[Config, Times]]:
    """Nanoseconds of every variant in every wanted configuration: `runs` processes each, of so many rounds.

    Raises ClickException when a benchmark fails.
    """
    times: list[defaultdict[str, list[float]]] = [defaultdict(list) for _ in wanted]
    for run in range(runs):
        for i, (config, pattern) in enumerate(wanted):
            done(f"run {run + 1}/{runs} " + " ".join(f"{k}={v}" for k, v in config.items()))
            for variant, ns in _rounds(binary, pattern, rounds(config)):
                times[i][variant].append(ns)
    return [(config, dict(times[i])) for i, (config, _) in enumerate(wanted)]
