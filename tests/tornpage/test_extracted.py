# SPDX-License-Identifier: PostgreSQL
"""What is extracted from the proofs, oracle and kernels on the same input: the forms of the checksum on pages, and
recovery on files after faults."""

import struct
import subprocess
from itertools import groupby
from random import Random
from typing import NamedTuple

import pytest
from pgquern.tornpage import checksums, variants

from ref import tornpage as ref
from ref.tornpage import File, Protection
from tests.common.tally import tally
from tests.tornpage.crash import Device, Operation
from tests.tornpage.proved import OPERATIONS, PROGRAM, built, loaded, masked, whole_records
from tests.tornpage.worlds import Oracle, Shape, World, kernel

FORMS = {"upstream's loop": 0, "the chain": 1, "the prime in two parts": 2}
PAGES = 60


def ask(questions: bytes) -> bytes:
    built()
    return subprocess.run([PROGRAM], input=questions, stdout=subprocess.PIPE, check=True).stdout


def proved(form: int, pages: list[tuple[bytes, int, list[int]]]) -> list[int]:
    """What the extracted program gives for pages, each with its block number and an order of the lanes."""
    questions = b"".join(
        struct.pack("<BIII", form, ref.LANES, len(page) // (4 * ref.LANES), block)
        + struct.pack(f"<{ref.LANES}I", *ref.BASE_OFFSETS)
        + struct.pack(f"<{ref.LANES}I", *order)
        + masked(page)
        for page, block, order in pages
    )
    answers = ask(questions)
    return [answer for (answer,) in struct.iter_unpack("<I", answers)]


def proved_pages(pages: list[tuple[bytes, int]]) -> list[int]:
    """What the proved pg_checksum_page gives for pages as they are, each with its block number."""
    questions = b"".join(struct.pack("<BII", 4, len(page) // 4, block) + page for page, block in pages)
    answers = ask(questions)
    return [answer for (answer,) in struct.iter_unpack("<I", answers)]


def test_proof_equals_oracle_equals_kernels() -> None:
    """Pages of every size, and the lanes in any order."""
    rng = Random(7)
    pages = [
        (
            rng.randbytes(rng.choice(ref.BLOCK_SIZES[:4])),
            rng.randrange(2**32 - 1),
            rng.sample(range(ref.LANES), ref.LANES),
        )
        for _ in range(PAGES)
    ]
    found = {name: proved(form, pages) for name, form in FORMS.items()}
    found["the page as it is"] = proved_pages([(page, block) for page, block, _ in pages])
    for i, (page, block, _) in enumerate(pages):
        (wanted,) = ref.checksums(page, len(page), block)
        assert {name: answers[i] for name, answers in found.items()} == dict.fromkeys(found, wanted)
        for variant in variants():
            if variant.supported:
                assert checksums(page, block_size=len(page), first_block=block, variant=variant.name) == [wanted]
    tally("tornpage", "pages through proof, oracle and kernels", len(pages))


# ---- recovery ----

SHAPES = {
    "images": Shape(Protection.IMAGES),
    "images, one page": Shape(Protection.IMAGES, pages=1),
    "double write": Shape(Protection.DOUBLE_WRITE, block_size=2048, pages=4),
    "double write, one page": Shape(Protection.DOUBLE_WRITE, pages=1, slots=1),
    "atomic": Shape(Protection.ATOMIC),
    "atomic, one page": Shape(Protection.ATOMIC, pages=1),
}
Step = tuple[str, int, bytes]
"""What, file, and the page that is written, if it is one."""


class Recovered(NamedTuple):
    page: bytes
    steps: list[Step]


def question(shape: Shape, device: Device, page: int) -> bytes:
    """What the proved recovery of a page reads."""
    store = loaded(shape, device)
    size = shape.block_size
    place = bytes(store.pages[page])
    copies = store._read_area()[1] if shape.protection is Protection.DOUBLE_WRITE else {}
    records = whole_records(store)
    head = struct.pack("<BIIIII", 3, shape.protection, size, store.epoch, len(records), page in copies)
    log = b"".join(
        struct.pack("<IIIIQ", epoch, r.kind if r.page == page else ref.MARK, r.offset, len(r.data), end) + r.data
        for epoch, r, end in records
    )
    return head + log + place + copies.get(page, b"")


def answers_of(shapes: list[Shape], questions: list[bytes]) -> list[Recovered]:
    said, at = ask(b"".join(questions)), 0
    found = []
    for shape in shapes:
        page, steps = masked(said[at : at + shape.block_size]), []
        at += shape.block_size
        _, count = struct.unpack_from("<II", said, at)
        at += 8
        for _ in range(count):
            what, file = OPERATIONS[said[at]]
            at += 1
            size = shape.block_size if what == "write" and file in (File.AREA, File.DATA) else 0
            steps.append((what, int(file), masked(said[at : at + size]) if size else b""))
            at += size
        found.append(Recovered(page, steps))
    assert at == len(said)
    return found


def steps_of(operations: list[Operation], shape: Shape) -> list[Step]:
    """A store's operations as the program says them: a run of log writes is one; the mark is no part of the proof."""
    steps = []
    for operation in operations:
        match operation:
            case ("write", file, _, data):
                paged = file in (File.AREA, File.DATA)
                steps.append(("write", int(file), masked(data[-shape.block_size :]) if paged else b""))
            case (what, file):
                steps.append((what, int(file), b""))
    steps = [step for step, _ in groupby(steps)]
    assert [step[:2] for step in steps[-4:-2]] == [("write", File.LOG), ("sync", File.LOG)]
    return steps[:-4] + steps[-2:]


def torn_area(shape: Shape, device: Device) -> list[Step]:
    """An area of which no copy counts is written again as it was read. In the proof there is none then."""
    if shape.protection is not Protection.DOUBLE_WRITE:
        return []
    area, copies = loaded(shape, device)._read_area()
    if not area or copies:
        return []
    return [("write", File.AREA, masked(area[-shape.block_size :])), ("sync", File.AREA, b"")]


def faults(shape: Shape, seed: int, rounds: int) -> list[Device]:
    """What recoveries find in a world of faults: lives and recoveries that are stopped anywhere, several in a row."""
    world, found = World(shape, Random(seed)), list[Device]()
    for _ in range(rounds):
        world.live(world.rng.choice([1, 4, 16, 64]) * world.rng.randrange(4), steps=world.rng.randrange(12))
        for most in [*(world.rng.randrange(16) for _ in range(world.rng.randrange(3))), 10**6]:
            world.restart()
            found.append(world.device.copy())
            if world.recover(most):
                break
    return found


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_proved_recovery_equals_oracle_and_kernel(shape: Shape) -> None:
    """After kills, power losses and failures the proved recovery finds the same pages, and with one page it does the
    same writes and syncs, in the same order."""
    devices = [device for seed in range(4) for device in faults(shape, seed, 10)]
    questions = [question(shape, device, page) for device in devices for page in range(shape.pages)]
    answers = iter(answers_of([shape] * len(questions), questions))
    for device in devices:
        proofs = [next(answers) for _ in range(shape.pages)]
        for open_store in (Oracle, kernel):
            left = device.copy()
            store = open_store(shape, left)
            store.recover()
            assert [masked(bytes(store.page(number))) for number in range(shape.pages)] == [p.page for p in proofs]
            if shape.pages == 1:
                steps = proofs[0].steps
                at = steps.index(("sync", File.LOG, b"")) + 1
                one = [step for step, _ in groupby(steps[:at] + torn_area(shape, device) + steps[at:])]
                assert steps_of(left.operations, shape) == one
    tally("tornpage", "recoveries through proof, oracle and kernel", len(devices))


def test_each_form_is_the_one_that_is_asked_for() -> None:
    """The forms take the lanes in the order given, upstream's loop does not look at it: without lane 1 they differ.

    The two forms themselves differ nowhere.
    """
    page = Random(8).randbytes(8192)
    pages = [(page, 5, [0, 0, *range(2, ref.LANES)])]
    (wanted,) = ref.checksums(page, len(page), 5)
    found = [proved(form, pages)[0] for form in FORMS.values()]
    assert found[0] == wanted != found[1] == found[2]
