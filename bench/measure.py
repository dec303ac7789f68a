# SPDX-License-Identifier: PostgreSQL
"""Runs a stem's Google Benchmark binary, one process a configuration, variants interleaved at random within it.

A benchmark's name is `stem/key=value/.../variant=V`; all but the variant is its configuration.
"""

import json
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.goals import Config, Times

Key = tuple[tuple[str, str], ...]


def split_name(name: str) -> tuple[Config, str]:
    """('stem/n=10/variant=pg14/iterations:64/manual_time') -> ({'n': '10'}, 'pg14')."""
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


def measure(
    binary: Path,
    wanted: Sequence[tuple[Config, str]],
    *,
    runs: int,
    repetitions: Callable[[Config], int],
    done: Callable[[str], None],
) -> list[tuple[Config, Times]]:
    """Nanoseconds of every variant in every wanted configuration: `runs` processes each, of so many repetitions.

    Raises RuntimeError when a benchmark reports an error.
    """
    times: dict[int, defaultdict[str, list[float]]] = {i: defaultdict(list) for i in range(len(wanted))}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        for run in range(runs):
            for i, (config, pattern) in enumerate(wanted):
                done(f"run {run + 1}/{runs} " + " ".join(f"{k}={v}" for k, v in config.items()))
                command = [
                    str(binary),
                    f"--benchmark_filter={pattern}",
                    f"--benchmark_repetitions={repetitions(config)}",
                    "--benchmark_enable_random_interleaving=true",
                    f"--benchmark_out={out}",
                    "--benchmark_out_format=json",
                ]
                ran = subprocess.run(command, capture_output=True, text=True, check=False)
                if ran.returncode or not out.stat().st_size:
                    raise RuntimeError(f"{binary.name} failed:\n{ran.stderr[-2000:]}")
                report = json.loads(out.read_text())
                for row in sorted(report["benchmarks"], key=lambda r: r.get("repetition_index", 0)):
                    if row["run_type"] != "iteration":
                        continue
                    if row.get("error_occurred"):
                        raise RuntimeError(f"{row['name']}: {row['error_message']}")
                    times[i][split_name(row["name"])[1]].append(row["real_time"])
    return [(config, dict(times[i])) for i, (config, _) in enumerate(wanted)]
