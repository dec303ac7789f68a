# SPDX-License-Identifier: PostgreSQL
"""A limited volume: what it says where it cannot be; where it can, it is limited, and nothing is left of it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import volume
from bench.volume import Limits, Refused

IN_A_CHILD = """
import os, signal, sys, time
from pathlib import Path
from bench.volume import Limits, Refused, limited, own_mounts, volume
folder = Path(sys.argv[1])
try:
    own_mounts(folder.parent)
    with volume(folder, 32) as device:
        with limited(device, Limits(iops=50, mib=1000)):
            file = os.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
            began = time.monotonic()
            for _ in range(int(sys.argv[2])):
                os.write(file, b"x" * 4096)
            print(device, time.monotonic() - began, flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)
except Refused as error:
    print("refused:", error)
"""


def test_where_it_cannot_be_the_reason_is_said_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volume, "ROOT_GROUP", tmp_path / "none")
    (tmp_path / "v").mkdir()
    with pytest.raises(Refused, match="needs root, and the blkio controller"), volume.volume(tmp_path / "v", 32):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_command_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "blkio.throttle.write_iops_device"
    group.touch()
    monkeypatch.setattr(volume, "ROOT_GROUP", tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Refused, match="dd is missing"), volume.volume(tmp_path / "v", 32):
        pass


def test_a_limit_is_a_positive_number_of_both() -> None:
    with pytest.raises(ValueError, match="iops"):
        Limits(iops=0, mib=1)
    with pytest.raises(ValueError, match="mib"):
        Limits.model_validate({"iops": 1})


def test_it_is_as_slow_as_it_is_told_and_nothing_is_left_after_a_signal(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    child = subprocess.run(
        [sys.executable, "-c", IN_A_CHILD, tmp_path / "v", "100"], capture_output=True, text=True, timeout=600
    )
    if child.stdout.startswith("refused:"):
        pytest.skip(f"a limited volume: {child.stdout.strip()}")
    assert child.stderr.rstrip().endswith("KeyboardInterrupt"), child.stderr
    device, seconds = child.stdout.split()
    assert float(seconds) >= 1  # 100 writes, 50 a second, and what the device took in before
    assert not os.path.ismount(tmp_path / "v")
    assert not (tmp_path / "v.volume").exists()
    rules = volume.ROOT_GROUP.glob("blkio.throttle.*_device")
    assert not [rule for rule in rules if f"{device} " in rule.read_text()]
    loop = Path("/sys/dev/block", device, "loop")
    while loop.exists():  # the kernel lets go of it when the mount is gone
        time.sleep(0.1)


LITTLE = """
import os, sys
from pathlib import Path
from bench.volume import Refused, little_memory
try:
    with little_memory(48):
        with open(sys.argv[1], "wb") as file:
            for _ in range(200):
                file.write(bytes(1 << 20))
        group = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line)
        used = Path("/sys/fs/cgroup/memory" + group.rpartition(":")[2], "memory.max_usage_in_bytes")
        print(int(used.read_text()) >> 20)
        raise OSError("of who measures")
except Refused as error:
    print("refused:", error)
"""


def test_memory_is_as_little_as_it_is_told_and_its_group_is_gone(tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", LITTLE, tmp_path / "file"], capture_output=True, text=True)
    if child.stdout.startswith("refused:"):
        assert "memory" in child.stdout
        assert child.returncode == 0
        return
    assert "OSError: of who measures" in child.stderr
    assert 0 < int(child.stdout) <= 48
    assert not list(volume.MEMORY.glob("pgquern-*"))
