# SPDX-License-Identifier: PostgreSQL
"""The benchmark on real files: what it makes of records, and of what the kernel says. No time is judged."""

from pathlib import Path

import numpy as np
import pytest

from bench.ioshares.files import kernel
from bench.ioshares.files.kernel import UnavailableError
from bench.ioshares.files.mix import CLASSES, PAGE, RECORD, SLOT_MS, make_pages, parse
from bench.ioshares.files.run import SHARES, kernel_ways, share_error, shown, spread

HEAD = b'{"way": "threads", "direct": false}\n'


def records(*rows: tuple[int, int, int, int]) -> bytes:
    return HEAD + np.array(list(rows), RECORD).tobytes()


def test_the_records_of_all_processes_are_one_run() -> None:
    ms = 1_000_000
    run = parse([records((5 * ms, 100_000, 0, 0), (70 * ms, 300_000, 0, 0)), records((7 * ms, 900_000, 1, 1))], 100)
    assert (run.way, run.direct) == ("threads", False)
    assert [run.a_second(cls) for cls in range(CLASSES)] == [20, 10, 0, 0]
    assert run.quantile(50) == pytest.approx(200)
    assert run.timeline() == [100, 300]
    assert run.ms // SLOT_MS == 2
    assert run.service([0.0, 0.006, 0.1]) == [[0, 1, 2], [0, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_service_by_share_has_no_error() -> None:
    def served(counts: list[int]) -> float:
        return share_error(parse([records(*((1, 1, cls, 0) for cls, n in enumerate(counts) for _ in range(n)))], 1000))

    assert served([share // 10 for share in SHARES]) == pytest.approx(0)
    assert served([25, 25, 25, 25]) == pytest.approx(150)  # the writeback has 25 % in place of 10


def test_a_figure_is_shown_with_its_spread() -> None:
    assert shown(spread([90.0, 100.0, 130.0])) == "100 ±30 %"
    assert shown(spread([0.0, 0.0])) == "-"


def test_each_page_has_its_number(tmp_path: Path) -> None:
    target = make_pages(tmp_path / "pages", 1500)
    found = np.fromfile(target.path, "<u8").reshape(1500, PAGE // 8)
    assert found[:, 0].tolist() == list(range(1500))
    stamp = target.path.stat().st_mtime_ns
    assert make_pages(tmp_path / "pages", 1500) == target
    assert target.path.stat().st_mtime_ns == stamp


def test_schedulers_of_a_queue() -> None:
    assert kernel.schedulers("none [mq-deadline] kyber bfq\n") == (
        "mq-deadline",
        ["none", "mq-deadline", "kyber", "bfq"],
    )
    assert kernel.schedulers("none\n") == ("none", ["none"])


def test_priorities_are_those_of_linux() -> None:
    """Class and level, as in linux/ioprio.h; a scheduler without priorities is told nothing."""
    assert kernel_ways("none") == {}
    (deadline,), (levels,) = kernel_ways("mq-deadline").values(), kernel_ways("bfq").values()
    assert deadline.places == dict.fromkeys((1, 2, 3), ("ioprio=24576",))
    assert [levels.places[cls] for cls in range(CLASSES)] == [(f"ioprio={16384 + level}",) for level in (0, 5, 5, 6)]


def test_what_the_kernel_does_not_allow_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n")
    monkeypatch.setattr(kernel, "MOUNTS", mounts)
    with pytest.raises(UnavailableError, match="no cgroup"), kernel.weighted(SHARES):
        pass
    (tmp_path / "v1").mkdir()
    mounts.write_text(f"cgroup {tmp_path}/v1 cgroup rw,blkio 0 0\n")
    with kernel.weighted(SHARES) as places:  # a folder that is no cgroup keeps what is written
        assert len(places) == CLASSES
        for made in (tmp_path / "v1").glob("pgquern-*/*/blkio.bfq.weight"):
            made.unlink()
    assert list((tmp_path / "v1").iterdir()) == []
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(UnavailableError, match="root"), kernel.loop_device(tmp_path / "pages"):
        pass
