# SPDX-License-Identifier: PostgreSQL
"""A relation in segments: each block is read from its file, and a segment that is missing is told."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from _pgquern import ffi, lib
from hypothesis import given
from hypothesis import strategies as st
from pgquern import PgquernError
from pgquern.prefetch import BLCKSZ, ReplayError, replay
from pgquern.variants import row_of

from ref.prefetch import SEGMENT_BLOCKS, relation_blocks, segment_of
from tests.prefetch.files import VARIANTS, Cold, files, page, skip_unless_it_runs
from tests.prefetch.test_kernels_replay import some

every = pytest.mark.parametrize("variant", VARIANTS)
SEGMENT = 7
"""Blocks of a segment in these tests."""
LENGTHS = [7, 7, 3, 7, 0, 5]
"""Of the segments of three relations: of 17 blocks, of 7 (and a segment that was emptied), of 5."""
SEGMENTS = [3, 2, 1]


def descriptors() -> list[str]:
    """What this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(found)


@pytest.fixture(scope="module")
def fds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    with files(tmp_path_factory.mktemp("segments"), LENGTHS, extra=100) as opened:
        yield opened


def replayed(
    fds: Sequence[int],
    accesses: list[tuple[int, int]],
    variant: str,
    segments: list[int],
    segment_blocks: int = SEGMENT,
) -> list[bytes]:
    seen = list[bytes]()
    replay(
        fds,
        accesses,
        concurrency=5,
        buffers=9,
        segments=segments,
        segment_blocks=segment_blocks,
        variant=variant,
        io=Cold(),
        use=lambda _access, content: seen.append(content),
    )
    return seen


def place_of(access: tuple[int, int]) -> tuple[int, int]:
    """The place in LENGTHS, and the block there."""
    file, block = access
    segment, inside = segment_of(block, SEGMENT)
    return sum(SEGMENTS[:file]) + segment, inside


blocks_of_relations = [17, 7, 5]
accesses_of_relations = st.lists(
    st.sampled_from([(file, block) for file, size in enumerate(blocks_of_relations) for block in range(size)])
    | st.sampled_from([(0, block) for block in range(17)]),
    max_size=60,
)


@every
@some
@given(accesses=accesses_of_relations)
def test_each_block_comes_from_its_segment(fds: list[int], variant: str, accesses: list[tuple[int, int]]) -> None:
    skip_unless_it_runs(variant, fds)
    assert replayed(fds, accesses, variant, SEGMENTS) == [page(*place_of(access)) for access in accesses]


@every
@pytest.mark.parametrize(("file", "blocks"), list(enumerate(blocks_of_relations)))
def test_a_relation_ends_with_its_last_segment(fds: list[int], variant: str, file: int, blocks: int) -> None:
    skip_unless_it_runs(variant, fds)
    for past in (blocks, blocks + 1, 2**32 - 1):
        with pytest.raises(ReplayError) as refusal:
            replayed(fds, [(file, 0), (file, blocks - 1), (file, past)], variant, SEGMENTS)
        assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_PAST_END, 3)
        assert refusal.value.replayed.used == 2


lengths = st.lists(st.none() | st.sampled_from([0, 1, SEGMENT - 1, SEGMENT, SEGMENT, SEGMENT, SEGMENT + 1]), max_size=4)


@contextmanager
def segments_of(folder: Path, wanted: list[int | None]) -> Iterator[list[int]]:
    with files(folder, [length or 0 for length in wanted]) as opened:
        yield [-1 if length is None else fd for fd, length in zip(opened, wanted, strict=True)]


def answer_of(wanted: list[int | None]) -> tuple[int, str]:
    """The length by the definition, or why there is none."""
    try:
        return relation_blocks(wanted, SEGMENT), ""
    except ValueError as error:
        return 0, str(error)


@pytest.mark.parametrize("variant", ["sync", "uring_direct"])
@some
@given(before=st.booleans(), wanted=lengths)
def test_the_length_is_that_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory, variant: str, before: bool, wanted: list[int | None]
) -> None:
    """Also behind another relation. A segment that is lost, or too long, is refused before anything is replayed."""
    with segments_of(tmp_path_factory.mktemp("lengths"), [SEGMENT, *wanted]) as opened:
        skip_unless_it_runs(variant, opened[:1])
        fds, segments = (opened, [1, len(wanted)]) if before else (opened[1:], [len(wanted)])
        file, at = len(segments) - 1, len(fds) - len(wanted)
        blocks, why = answer_of(wanted)
        if why:
            with pytest.raises(ReplayError) as refusal:
                replayed(fds, [(file, 0)], variant, segments)
            assert refusal.value.code == lib.PGQ_PREFETCH_SEGMENT
            assert f"segment {refusal.value.index - 1 - at} " in why
            assert refusal.value.replayed.used == 0
            return
        if blocks:
            last = segment_of(blocks - 1, SEGMENT)
            assert replayed(fds, [(file, blocks - 1)], variant, segments) == [page(1 + last[0], last[1])]
        with pytest.raises(ReplayError) as refusal:
            replayed(fds, [(file, blocks)], variant, segments)
        assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_PAST_END, 1)


def test_the_definition_by_hand() -> None:
    assert relation_blocks([]) == relation_blocks([None]) == relation_blocks([0, 0]) == 0
    assert relation_blocks([SEGMENT_BLOCKS, SEGMENT_BLOCKS, 5, 0, None]) == 2 * SEGMENT_BLOCKS + 5
    for wrong in ([None, 1], [5, 1], [SEGMENT_BLOCKS + 1], [SEGMENT_BLOCKS, None, 1]):
        with pytest.raises(ValueError, match=f"^segment {len(wrong) - 1} has"):
            relation_blocks(wrong)
    assert segment_of(131071) == (0, 131071)
    assert segment_of(131072) == (1, 0)
    assert lib.PGQ_PREFETCH_SEGMENT_BLOCKS == SEGMENT_BLOCKS == 2**30 // BLCKSZ


@every
def test_segments_that_cannot_be_counted_are_refused(fds: list[int], variant: str) -> None:
    with pytest.raises(ValueError, match="descriptors"):
        replay(fds, [], concurrency=1, buffers=2, segments=[1], variant=variant)
    with pytest.raises(PgquernError) as refusal:
        call_with_segments([2**31, 2**31, 0], variant)
    assert refusal.value.code == lib.PGQ_PREFETCH_JOB


def call_with_segments(segments: list[int], variant: str) -> None:
    """More of them than there are descriptors: C must refuse before it looks at one."""
    fds, counts = ffi.new("int[]", 1), ffi.new("uint32_t[]", segments)
    job = {"fds": fds, "file_count": len(segments), "segments": counts, "buffers": 2, "concurrency": 1}
    status = row_of("prefetch_replay", variant).fn(ffi.new("pgq_prefetch_job *", job))
    raise PgquernError(status.code, status.index)


@pytest.fixture(scope="module")
def gigabytes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Two segments of 1 GiB, and one of two blocks. Few of their blocks are written."""
    folder, written = tmp_path_factory.mktemp("sparse"), {0: [0, 131071], 1: [0, 131071], 2: [0, 1]}
    opened = [os.open(folder / f"1234.{number}", os.O_RDWR | os.O_CREAT) for number in written]
    try:
        for fd, (number, blocks) in zip(opened, written.items(), strict=True):
            try:
                os.truncate(fd, 2 * BLCKSZ if number == 2 else 2**30)
            except OSError as error:
                pytest.skip(f"no sparse file of 1 GiB here: {error}")
            for block in blocks:
                assert os.pwrite(fd, page(number, block), block * BLCKSZ) == BLCKSZ
            os.fsync(fd)
        yield opened
    finally:
        for fd in opened:
            os.close(fd)


@every
def test_segments_of_1_gib(gigabytes: list[int], variant: str) -> None:
    skip_unless_it_runs(variant, gigabytes)
    blocks = [0, 262143, 131071, 131072, 262144, 262145, 0, 131072, 131073]
    pages = replayed(gigabytes, [(0, block) for block in blocks], variant, [3], segment_blocks=0)
    assert pages == [page(*segment_of(block)) for block in blocks[:-1]] + [bytes(BLCKSZ)]
    with pytest.raises(ReplayError) as refusal:
        replayed(gigabytes, [(0, 262145), (0, 262146)], variant, [3], segment_blocks=0)
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_PAST_END, 2)
    with pytest.raises(ReplayError) as refusal:
        replayed([gigabytes[0], -1, gigabytes[2]], [(0, 0)], variant, [3], segment_blocks=0)
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_PREFETCH_SEGMENT, 3)
