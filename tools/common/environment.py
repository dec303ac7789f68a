# SPDX-License-Identifier: PostgreSQL
"""The facts that a reader of a result needs: CPU, commit, tools, and the time that the hypervisor stole."""

import os
import platform
import re
import subprocess
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
VECTOR_FLAGS = ("avx2", "avx512f", "avx512_vbmi2", "asimd")
"""The flags in /proc/cpuinfo that decide which kernels can run."""
ARM_CORES = {
    ("0x41", "0xd0b"): "Cortex-A76",
    ("0x41", "0xd0c"): "Neoverse-N1",
    ("0x41", "0xd40"): "Neoverse-V1",
    ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2",
    ("0xc0", "0xac3"): "Ampere-1",
}
"""Names of cores on which servers run, by implementer and part: on ARM, Linux knows the numbers only."""


def first_line(*command: str) -> str:
    """The first line that a command prints, or "" if the command cannot run or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout.splitlines() or [""])[0]


def cpuinfo() -> dict[str, str]:
    """The fields of the first processor in /proc/cpuinfo; empty where there is no such file."""
    fields: dict[str, str] = {}
    for line in CPUINFO.read_text().splitlines() if CPUINFO.exists() else []:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def cpu_words() -> list[str]:
    """The CPU's model name, family and model; of an ARM the core, its implementer, part and variant."""
    fields = cpuinfo()
    if "CPU part" in fields:
        implementer, part = fields.get("CPU implementer", "?"), fields["CPU part"]
        core = ARM_CORES.get((implementer, part), "ARM")
        return [core, "implementer", implementer, "part", part, "variant", fields.get("CPU variant", "?")]
    name = fields.get("model name") or platform.processor() or platform.machine()
    return [name, "family", fields.get("cpu family", "?"), "model", fields.get("model", "?")]


def cpu() -> str:
    """The CPU, in words, and the vector extensions that kernels can use."""
    fields = cpuinfo()
    flags = (fields.get("flags") or fields.get("Features", "")).split()
    return " ".join([*cpu_words(), *(flag for flag in VECTOR_FLAGS if flag in flags)])


def cpu_slug() -> str:
    """The CPU as a file name: its words in lower case, joined by hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(cpu_words()).lower()).strip("-")


def cpus(pinned_to: int | None) -> str:
    """Where something ran, in words: on the CPU that it was pinned to, or on all."""
    return "all CPUs" if pinned_to is None else f"CPU {pinned_to}"


def pin() -> int:
    """Restrict this process and its children to one CPU, the last that it may use; returns its number.

    The first CPU mostly serves the interrupts.
    """
    chosen = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {chosen})
    return chosen


def cpu_level() -> str:
    """What PGQUERN_CPU leaves of the CPU: its value, or "all" if it is not set."""
    return os.environ.get("PGQUERN_CPU") or "all"


def dirty(folder: Path = Path()) -> bool:
    """Whether a tracked file differs from the commit."""
    return bool(first_line("git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"))


def commit(folder: Path = Path()) -> str:
    """The abbreviated commit of the tree, with "+" if the tree is dirty; "" outside a checkout."""
    return first_line("git", "-C", str(folder), "rev-parse", "--short=10", "HEAD") + ("+" if dirty(folder) else "")


def steal_ticks() -> tuple[int, int]:
    """(stolen, all) clock ticks of all CPUs since boot."""
    ticks = [int(t) for t in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)
