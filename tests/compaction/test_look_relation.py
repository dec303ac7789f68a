# SPDX-License-Identifier: PostgreSQL
"""`pgquern look` of a whole relation: its segments, block ranges, what a prune would take, and why space is kept."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from ref import page as heap
from tests.compaction.test_look import SIZE, found, looked, sound_pages, write
from tests.page.cluster import cluster
from tools.common import environment
from tools.look import __main__ as look
from tools.look import predicted
from tools.look.kept import Kept
from tools.look.ranges import BARS, PARTS, RANGES, WIDTH, Ranges
from tools.look.rows import COLUMNS, Rows, gain

TOP = Path(__file__).parents[2]


def row(**values: int) -> list[int]:
    return [values.get(name, 0) for name in COLUMNS]


@pytest.fixture
def segments(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A relation of ten pages in segments of four; one page of the third is damaged."""
    cluster(tmp_path, segment_blocks=4)
    pages = sound_pages(10)
    pages[9] = pages[9][:12] + (9000).to_bytes(2, "little") + pages[9][14:]
    for number in (2, 1, 0):
        path = write(tmp_path, pages[4 * number : 4 * number + 4], f"16384.{number}" if number else "16384")
    return path, pages


def test_segments_are_one_relation(segments: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    path, pages = segments
    (tmp_path / "one").mkdir()
    whole, several = found(write(tmp_path / "one", pages)), found(path)
    changes = ("file", "files", "picture", "picture_of_all", "speed")
    assert {key: value for key, value in several.items() if key not in changes} == {
        key: value for key, value in whole.items() if key not in changes
    }
    assert several["files"] == [str(path), f"{path}.1", f"{path}.2"]
    assert [one["block"] for one in several["refused"]] == [9]
    assert found(path, "--page", "8")["drawn"] == 8
    status, said = looked(path, "--page", "9")
    assert (status, "block 9 cannot be drawn" in said) == (2, True)
    assert "16384 and 2 segments more: 10 pages (blocks 0 to 9), 0 new, 1 refused" in looked(path)[1]
    assert found(path.with_name("16384.1"))["page"] == several["page"][4:8]


def test_a_segment_behind_one_that_is_not_full_is_left_out(segments: tuple[Path, list[bytes]]) -> None:
    path, pages = segments
    path.with_name("16384.1").write_bytes(b"".join(pages[:3]))
    status, said = looked(path)
    assert (status, "7 pages" in said, "16384.2 is left out: a segment before it is not full" in said) == (
        0,
        True,
        True,
    )
    path.with_name("16384.2").write_bytes(b"")  # as a server leaves it that has cut the relation
    assert "left out" not in looked(path)[1]


def test_a_range_tells_what_each_byte_is(tmp_path: Path) -> None:
    pages = [*sound_pages(300), bytes(SIZE)]
    said = found(write(tmp_path, pages))
    assert [one["block"] for one in said["range"]] == list(range(0, 301, 2))
    assert all(sum(one[part] for part in PARTS) == 2 * SIZE for one in said["range"][:-1])
    assert {part: sum(one[part] for one in said["range"]) for part in ("gained", "hinted", "free", "other")} == {
        "gained": said["gain"], "hinted": said["hinted_bytes"], "free": said["free_before"], "other": SIZE,
    }  # fmt: skip
    headers = sum(24 + 4 * len(heap.line_pointers(page)) for page in pages[:-1]) - 4 * said["lines_cut"]
    assert sum(one["headers"] for one in said["range"]) == headers
    assert min(one[part] for one in said["range"] for part in PARTS) >= 0


def test_the_bars_are_as_wide_whatever_there_is(tmp_path: Path) -> None:
    """A mark stands for the same share of its range; a server may add pages while the file is read."""
    for pages in (1, 15, 16, 17, 300, 10**6):
        ranges = Ranges(pages)
        assert len(ranges.sums) <= RANGES
        places = np.unique(np.linspace(0, pages + 5, 100).astype(int))
        ranges.add(places, np.array([row(free_before=4096, free_after=5120, line_pointers=10)] * len(places)))
        first, *bars, legend = ranges.bars(1000, pages + 6)
        assert "by block range" in first
        assert len(bars) <= BARS + 1
        for bar in bars:
            assert sum(bar.count(mark) for _, mark, _ in PARTS.values()) == WIDTH
        assert bars[0].split()[0] == "1000"
        assert "compaction gives them back" in legend
        ranges.draw(drawn := io.BytesIO(), "$\\q$", 1000, pages + 6)
        assert drawn.getvalue()[1:4] == b"PNG"


def test_memory_does_not_grow_with_the_relation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --json: the pages to time are drawn by lot, and those that gain most are the same."""
    path = write(tmp_path, sound_pages(60))
    monkeypatch.setattr(look, "CHUNK", 7)
    monkeypatch.setattr(look, "SAMPLE", 5)
    monkeypatch.setattr(look, "REASONS", 0)
    lean, all_kept = look.read(path, 18, each=False), look.read(path, 18)
    assert (lean.each, lean.drawn.shape, len(lean.worst), len(look.sample(lean))) == ([], (2, 5), look.LISTED, 5)
    rows: Rows = np.concatenate([rows for _, rows in all_kept.each])
    gained = gain(rows)
    assert gain(lean.worst).tolist() == sorted(gained.tolist(), reverse=True)[: look.LISTED]
    assert gained[lean.worst_places].tolist() == gain(lean.worst).tolist()


def test_the_nearest_cell_of_each_cell_is_itself() -> None:
    pruning = predicted.Pruning("ITEM")
    assert len(pruning.cells) == 66
    rows = [
        row(tuples=n, hinted=round(n * (100 - live) / 100), line_pointers=n - 1, lines_cut=1, in_order=int(in_order),
            tuple_bytes=round(n * size))
        for n, size, live, in_order in pruning.cells.astype(int).tolist()
    ]  # fmt: skip
    assert pruning.nearest(np.array(rows)).tolist() == list(range(66))


def test_the_prediction_is_the_recorded_time_of_the_pages_that_a_prune_would_compact() -> None:
    """Of 1,000 pages of 226 tuples of 32 bytes in order, 34 dead; and of 1,000 without a dead one nothing."""
    page = row(tuples=226, hinted=34, line_pointers=226, in_order=1, tuple_bytes=226 * 32)
    pruning = predicted.Pruning("ITEM")
    assert list(pruning.lines()) == []
    pruning.add(np.array([page] * 1000 + [row(tuples=226, line_pointers=226, in_order=1)] * 1000))
    said = pruning.document()
    results = [one for path in (TOP / "bench/figures").glob("*.json") for one in predicted.listed(path)]
    (chosen,) = (one for one in results if one["cpu"] == said["cpu"])
    at = {name: i for i, name in enumerate(chosen["columns"])}
    times = {one[at["variant"]]: one[at["ns"]] for one in chosen["rows"] if one[0] == "L2 226 32 85 presorted"}
    assert (said["pages"], set(said["nanoseconds"])) == (1000, {"pg14", pruning.ours})
    assert said["nanoseconds"] == pytest.approx({name: 1000 * times[name] for name in said["nanoseconds"]})
    assert said["is_this_cpu"] == (chosen["cpu"] == environment.cpu())
    (line,) = pruning.lines()
    assert line.startswith("predicted, not measured: of a VACUUM that prunes 1,000 pages")
    assert ("ANOTHER CPU" in line) != said["is_this_cpu"]
    assert predicted.Pruning("OFFSET").upstream == "pg13"


def test_without_figures_nothing_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicted, "grid", dict)
    pruning = predicted.Pruning("ITEM")
    pruning.add(np.array([row(tuples=1, hinted=1)]))
    assert (list(pruning.lines()), pruning.document()["nanoseconds"][pruning.ours]) == ([], None)


@pytest.mark.parametrize(("nanoseconds", "words"), [(850, "0.85 µs"), (2.5e6, "2.5 ms"), (3e9, "3 s")])
def test_a_time_has_a_unit(nanoseconds: float, words: str) -> None:
    assert predicted.said(nanoseconds) == words


def test_what_fillfactor_keeps() -> None:
    """Of 8192 bytes 20 % are 1638: one page has less free, one has more, one has no tuple."""
    kept = Kept(80, "as asked")
    kept.add(np.array([row(free_after=1000, hinted_bytes=600, tuples=5), row(free_after=3000, tuples=5), row()]))
    kept.add(np.array([row(free_after=1000)]))
    assert (kept.free, kept.reserved, kept.pages_for_updates) == (5600, 1600 + 1638 + 1000, 1)
    (line,) = kept.lines()
    assert line.startswith("fillfactor 80 (as asked): of 5,600 bytes")
    assert list(Kept(100, "").lines()) == []


def test_what_line_pointers_keep() -> None:
    """A page with all line pointers has no room, unless one is unused or a prune makes one so."""
    full = {"line_pointers": 291, "redirect": 100, "dead": 3, "free_after": 500}
    kept = Kept(100, "")
    kept.add(np.array([row(**full), row(**full, unused=1), row(**full, unused=1, lines_cut=1), row(**full, hinted=1)]))
    assert (kept.redirect, kept.dead, kept.unused, kept.full, kept.full_free, kept.full_redirect) == (
        400, 12, 1, 2, 1000, 200
    )  # fmt: skip
    chains, dead, room = kept.lines()
    assert chains.startswith("HOT chains keep 1,600 bytes: a redirect line pointer stays")
    assert dead.startswith("dead line pointers keep 48 bytes until VACUUM")
    assert room.startswith("2 pages have 291 line pointers, none unused, and so no room for a row, though 1,000 bytes")


def test_the_option_comes_before_the_catalog(tmp_path: Path) -> None:
    path = write(tmp_path, sound_pages(3))
    assert json.loads(looked(path, "--json", "--fillfactor", "70")[1])["kept"]["fillfactor"] == 70
    assert found(path)["kept"]["says"] == "the default: no catalog was found that says another"
