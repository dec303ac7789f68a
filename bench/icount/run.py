# SPDX-License-Identifier: PostgreSQL
"""Instruction counts of the compaction kernels, compared with recorded ones.

python -m bench.icount.run [--accept]

They do not depend on how busy the machine is: a kernel that got 5 % worse shows. callgrind counts all variants but
avx512, which valgrind does not know: that one is single-stepped (step.c). Where both can count, they must agree. libc's
part (memcpy, memmove) is in the count; GLIBC_TUNABLES keeps its choice of code the same on every CPU.

expected.json belongs to one version of gcc and of glibc. With another version the counts mean nothing, and the
comparison is reported as skipped. After a change that is worth its instructions, `make icount-accept` records the new
counts: commit the file and say in the message why.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench import environment

EXPECTED = Path("bench/icount/expected.json")
RESULT = Path("build/results/icount.json")
STEP = "build/icount/step"
PAGES = 4  # as in step.c
TOLERANCE = 0.05
STEPPED = ["avx512"]
UPSTREAM = ["pg13", "pg14"]
VARIANTS = [*UPSTREAM, "scalar", "avx2", *STEPPED]
CROSS_CHECKED = [("pg14", "226 32 32 85 random"), ("avx2", "36 32 400 85 presorted")]
SHAPES = [
    "226 32 32 50 presorted",
    "226 32 32 85 presorted",
    "226 32 32 97 presorted",
    "226 32 32 85 random",
    "95 76 76 85 presorted",
    "95 76 76 85 random",
    "36 32 400 85 presorted",
    "36 32 400 85 random",
    "10 600 600 85 presorted",
    "10 600 600 97 random",
    "10 24 24 97 presorted",
]
# memcpy and memmove: AVX without `rep movs`, which single-stepping would count once a byte.
ENVIRONMENT = os.environ | {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-ERMS,-FSRM"}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a counter; ClickException with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode != 0:
        raise click.ClickException(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
    return done


def stepped(variant: str, shape: str) -> int:
    """Instructions for PAGES pages, by single-stepping."""
    return int(run(STEP, variant, *shape.split()).stdout.split()[0])


def by_callgrind(variant: str, shape: str) -> int:
    """Instructions for PAGES pages, by valgrind."""
    with tempfile.NamedTemporaryFile() as out:
        options = [f"--callgrind-out-file={out.name}", "--toggle-collect=counted_call"]
        done = run("valgrind", "--tool=callgrind", *options, STEP, variant, *shape.split(), "--plain")
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise click.ClickException(f"callgrind printed no count: {done.stderr[-500:]}")
    return int(collected[1])


def instructions(variant: str, shape: str) -> int:
    """Instructions for PAGES pages."""
    return stepped(variant, shape) if variant in STEPPED else by_callgrind(variant, shape)


def shape_of(config: Mapping[str, str]) -> str:
    """A benchmark's configuration as step.c takes it: "N LEN_MIN LEN_MAX LIVE ORDER"."""
    len_min, _, len_max = config["len"].partition("..")
    return " ".join((config["n"], len_min, len_max or len_min, config["live"], config["order"]))


def supported(variant: str) -> bool:
    """Whether this CPU can run the variant (step refuses otherwise, before it counts)."""
    return subprocess.run([STEP, variant, *SHAPES[-1].split(), "--plain"], capture_output=True).returncode == 0


def toolchain() -> dict[str, str]:
    """What the counts depend on besides the sources."""
    return {"gcc": environment.output("gcc", "-dumpfullversion"), "glibc": platform.libc_ver()[1]}


def count(variants: list[str]) -> dict[str, dict[str, int]]:
    """Instructions a page, by shape and variant."""
    counts: dict[str, dict[str, int]] = {}
    with Progress() as progress:
        task = progress.add_task("counting instructions (20 s)", total=len(SHAPES) * len(variants))
        for shape in SHAPES:
            counts[shape] = {}
            for variant in variants:
                counts[shape][variant] = round(instructions(variant, shape) / PAGES)
                progress.advance(task)
    return counts


def cross_check() -> None:
    """The two ways to count agree, so that the variants may be compared with each other."""
    for variant, shape in CROSS_CHECKED:
        one, other = stepped(variant, shape), by_callgrind(variant, shape)
        if one != other:
            raise click.ClickException(
                f"{variant} on {shape}: {one} instructions by single-stepping, {other} by callgrind; they must agree. "
                "Has libc chosen other code for memcpy in one of them (GLIBC_TUNABLES)?"
            )


def write(items: list[dict[str, Any]], says: str, seconds: float, tools: dict[str, str]) -> None:
    """build/results/icount.json."""
    statuses = [item["status"] for item in items]
    cell = {
        "seconds": round(seconds, 1),
        **{s: statuses.count(s) for s in ("passed", "failed", "skipped")},
        "says": says,
    }
    result = {
        "layer": "icount",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "tools": tools | {"valgrind": environment.output("valgrind", "--version")},
        "commit": environment.commit(),
        "cpu": environment.cpu(),
        "stems": {"compaction": cell},
        "items": items,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


def judge(shape: str, variant: str, now: int | None, expected: dict[str, Any], comparable: str) -> dict[str, Any]:
    """One item of the results. comparable: empty, or why the recorded counts do not apply."""
    recorded = expected["counts"].get(shape, {}).get(variant)
    item: dict[str, Any] = {"stem": "compaction", "name": f"{variant}: {shape}", "variant": variant, "shape": shape}
    item |= {"instructions": now, "recorded": recorded}
    if now is None:
        return item | {"status": "skipped", "reason": "this CPU cannot run it"}
    if comparable:
        return item | {"status": "skipped", "reason": comparable}
    worse = recorded is None or now > recorded * (1 + TOLERANCE)
    return item | {"status": "failed" if worse else "passed"}


@click.command()
@click.option("--accept", is_flag=True, help="record the counts of this run as the expected ones")
def main(accept: bool) -> None:
    """Count instructions and compare (20 s)."""
    start = time.monotonic()
    console = Console()
    present = [variant for variant in VARIANTS if supported(variant)]
    cross_check()
    counts = count(present)
    tools = toolchain()
    if accept:
        if present != VARIANTS:
            raise click.ClickException("this CPU cannot run every variant; record where it can")
        EXPECTED.write_text(json.dumps({"tools": tools, "counts": counts}, indent=1) + "\n")
        console.print(f"recorded in {EXPECTED}: commit it, and say why the counts changed")
    expected = json.loads(EXPECTED.read_text())
    differing = [f"{tool} {tools[tool]}" for tool in tools if tools[tool] != expected["tools"][tool]]
    comparable = f"recorded with another toolchain; here {' and '.join(differing)}" if differing else ""

    table = Table("shape", *VARIANTS, "upstream / ours", title="compaction: instructions a page")
    items = []
    for shape in SHAPES:
        cells = []
        for variant in VARIANTS:
            now = counts[shape].get(variant)
            item = judge(shape, variant, now, expected, comparable)
            items.append(item)
            cells.append(
                "-"
                if now is None
                else f"[red]{now} (was {item['recorded']})[/]"
                if item["status"] == "failed"
                else f"{now}"
            )
        upstream = min(counts[shape][variant] for variant in UPSTREAM)
        best = min(n for variant, n in counts[shape].items() if variant not in UPSTREAM)
        table.add_row(shape, *cells, f"{upstream / best:.1f}")
    console.print(table)
    failed = [item["name"] for item in items if item["status"] == "failed"]
    says = f"{len(items)} counts" + (
        f", SKIPPED: {comparable}" if comparable else f", {len(failed)} above {TOLERANCE:.0%} more than recorded"
    )
    write(items, says, time.monotonic() - start, tools)
    if comparable:
        console.print(f"[yellow]SKIPPED[/] the comparison: {comparable}; `make icount-accept` records these")
    if failed:
        raise click.ClickException(
            f"more than {TOLERANCE:.0%} above {EXPECTED}: {'; '.join(failed)}. If it is worth it: make icount-accept"
        )


if __name__ == "__main__":
    main()
