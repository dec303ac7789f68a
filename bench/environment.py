# SPDX-License-Identifier: PostgreSQL
"""What a figure must be read with: CPU, compiler, flags, commit, and the time the hypervisor stole."""

import platform
import subprocess
from pathlib import Path


def cpu() -> str:
    """The CPU's model name, with the vector extensions that the kernels can use."""
    fields: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = f"{fields.get('model name', platform.processor())} family {fields.get('cpu family', '?')}"
    flags = fields.get("flags", "").split()
    return " ".join([name, "model", fields.get("model", "?"), *(f for f in ("avx2", "avx512_vbmi2") if f in flags)])


def output(*command: str) -> str:
    """First line of what `command` prints, or '' when it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout.splitlines() or [""])[0]


def commit() -> str:
    """Abbreviated commit of the tree, with '+' when it has changes that are not committed."""
    name = output("git", "rev-parse", "--short=10", "HEAD")
    return name + ("+" if output("git", "status", "--porcelain", "--untracked-files=no") else "")


def steal_ticks() -> tuple[int, int]:
    """(stolen, all) clock ticks of all CPUs since boot."""
    ticks = [int(t) for t in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)
