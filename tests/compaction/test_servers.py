# SPDX-License-Identifier: PostgreSQL
"""Compaction against real servers: PostgreSQL 13 to 18 (embedded) and Debian's 15, each by its own function.

Each server is started once, its answers on 2000 random pages, on pages that it refuses, and its pages of real tables
are kept, and everything else is compared with those. About 20 s.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import pgquern.compaction
import psycopg
import pytest

from ref import page as rp
from ref.compaction import VERSIONS, Order, Version, page_repair_fragmentation
from tests.common.tally import tally
from tests.compaction import picture
from tests.compaction.heap import TABLES, Pruned, pruned_pages, settled
from tests.compaction.prb import REPORTS, Prb, UnsafePageError, require_safe
from tests.page.build import page_of
from tests.page.shapes import random_shape
from tests.postgres.server import BUILDS, DEBIAN, EMBEDDED, Build, Server, extension

pytestmark = [pytest.mark.servers, pytest.mark.claim3]

RANDOM_PAGES = 20_000 if os.environ.get("PGQUERN_PROFILE") == "deep" else 2000
REFUSED_PAGES = 100
PRUNED_FLOOR = {"narrow": 50, "wide": 30}

per_build = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.label)


@cache
def random_pages() -> list[bytes]:
    return [page_of(random_shape(number, sound=True)) for number in range(RANDOM_PAGES)]


@cache
def refused_pages() -> dict[rp.ErrorCode, list[bytes]]:
    """Pages whose first fault is one that a server finds too, before it moves anything."""
    found: dict[rp.ErrorCode, list[bytes]] = {code: [] for code in REPORTS}
    for number in count():
        page = page_of(random_shape(number))
        try:
            repair(page, VERSIONS[18])
        except rp.PageError as error:
            if error.code in found and len(found[error.code]) < REFUSED_PAGES:
                found[error.code].append(page)
        if all(len(some) == REFUSED_PAGES for some in found.values()):
            return found
    raise AssertionError("the supply of shapes has no end")


@dataclass(frozen=True)
class Observed:
    """What one server did."""

    compacted: list[bytes]
    reports: dict[rp.ErrorCode, list[str]]
    tables: dict[str, list[Pruned]]
    of_another_major: str  # what it says when it is to load a library built for the neighbouring major


def load_foreign(server: Server) -> str:
    library = server.put(extension("prb", server.build.major - 1 if server.build.major > 13 else 14), "foreign.so")
    try:
        server.execute(f"CREATE FUNCTION foreign_prb(bytea) RETURNS bytea AS '{library}', 'prb' LANGUAGE C STRICT")
    except psycopg.Error as error:
        return str(error)
    return "loaded"


@cache
def observe(build: Build) -> Observed:
    with Server(build) as server, Prb(server) as prb:
        return Observed(
            compacted=[prb(page) for page in random_pages()],
            reports={code: [prb.refusal(page) for page in some] for code, some in refused_pages().items()},
            tables={table: pruned_pages(server, table) for table in TABLES},
            of_another_major=load_foreign(server),
        )


@cache
def expected(version: Version) -> list[bytes]:
    return [repair(page, version) for page in random_pages()]


def repair(page: bytes, version: Version) -> bytes:
    return page_repair_fragmentation(page, order=version.order, truncate=version.truncates)


def other_order(version: Version) -> Version:
    return version._replace(order=Order.ITEM if version.order is Order.OFFSET else Order.OFFSET)


def other_truncation(version: Version) -> Version:
    return version._replace(truncates=not version.truncates)


# ---- random pages --------------------------------------------------------------------------------


@per_build
def test_random_pages_equal_in_all_bytes(build: Build) -> None:
    theirs, ours = observe(build).compacted, expected(VERSIONS[build.major])
    differing = [i for i, (a, b) in enumerate(zip(theirs, ours, strict=True)) if a != b]
    assert len(theirs) == RANDOM_PAGES
    tally("compaction", "pages against real servers", RANDOM_PAGES)
    assert not differing, f"{len(differing)} pages differ from {build.label}, the first is number {differing[0]}"


@per_build
@pytest.mark.parametrize("wrong", [other_order, other_truncation], ids=["order", "truncation"])
def test_the_wrong_algorithm_is_seen_to_differ(build: Build, wrong: object) -> None:
    assert callable(wrong)
    right = expected(VERSIONS[build.major])
    other = expected(wrong(VERSIONS[build.major]))
    theirs = observe(build).compacted
    matters = [i for i in range(RANDOM_PAGES) if right[i] != other[i]]
    assert len(matters) > RANDOM_PAGES // 4
    assert all(theirs[i] != other[i] for i in matters)


# ---- refusals ------------------------------------------------------------------------------------


@per_build
@pytest.mark.parametrize("code", REPORTS, ids=lambda code: code.name)
def test_refusals_equal(build: Build, code: rp.ErrorCode) -> None:
    tally("compaction", "refusals against real servers", REFUSED_PAGES)
    for page, report in zip(refused_pages()[code], observe(build).reports[code], strict=True):
        with pytest.raises(rp.PageError) as refused:
            repair(page, VERSIONS[build.major])
        assert refused.value.code == code
        assert report.startswith(REPORTS[code])
        if code == rp.ErrorCode.LP_OFF:
            lp_off = rp.line_pointers(page)[refused.value.index - 1].lp_off
            assert report == f"{REPORTS[code]} {lp_off}"


def test_an_unsafe_page_is_not_sent() -> None:
    witness = rp.build([rp.LinePointer(8000, rp.LP_NORMAL, 64), rp.LinePointer(7992, rp.LP_NORMAL, 144)])
    past_special = rp.build([rp.LinePointer(8184, rp.LP_NORMAL, 16)])
    unordered = rp.build([rp.LinePointer(7000, rp.LP_NORMAL, 64), rp.LinePointer(7032, rp.LP_NORMAL, 64)])
    for page in (witness, past_special, unordered):
        with pytest.raises(UnsafePageError):
            require_safe(page)


# ---- real tables ---------------------------------------------------------------------------------


@per_build
@pytest.mark.parametrize("table", TABLES)
def test_a_hot_prune_of_a_real_table(build: Build, table: str) -> None:
    """Equal in header, line pointers, tuples, hole and special space: all but pd_lsn, pd_checksum, pd_prune_xid and the
    flags that the prune itself sets."""
    pruned = observe(build).tables[table]
    version = VERSIONS[build.major]
    assert len(pruned) > PRUNED_FLOOR[table]
    tally("compaction", "pages of real tables", len(pruned))
    assert all(settled(repair(page.decided, version)) == settled(page.after) for page in pruned)
    for wrong in (other_order(version), other_truncation(version)):
        assert sum(settled(repair(page.decided, wrong)) != settled(page.after) for page in pruned) > len(pruned) // 4


def test_the_picture_is_of_real_bytes(tmp_path: Path) -> None:
    picture.write(tmp_path / "real-page.json")
    drawn = json.loads((tmp_path / "real-page.json").read_text())
    before = bytes.fromhex(drawn["before"])
    for major in picture.MAJORS:
        assert bytes.fromhex(drawn[f"after_pg{major}"]) == repair(before, VERSIONS[major])
    assert drawn["after_pg13"] != drawn["after_pg14"]


# ---- our kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", pgquern.compaction.variants(), ids=lambda variant: variant.name)
def test_every_variant_equals_every_server_of_its_order(variant: pgquern.compaction.Variant) -> None:
    if not variant.supported:
        pytest.skip(f"this CPU cannot run {variant.name}")
    peers = [build for build in BUILDS if VERSIONS[build.major].order.name == variant.order.name]
    assert peers
    for build in peers:
        truncate = VERSIONS[build.major].truncates
        tables = [page for pruned in observe(build).tables.values() for page in pruned]
        before = [*random_pages(), *(page.decided for page in tables)]
        after = [bytearray(page) for page in before]
        assert set(pgquern.compaction.batch(after, truncate=truncate, variant=variant.name)) == {(0, 0)}
        assert all(ours == theirs for ours, theirs in zip(after, observe(build).compacted, strict=False))
        for ours, page in zip(after[RANDOM_PAGES:], tables, strict=True):
            assert settled(bytes(ours)) == settled(page.after)
        tally("compaction", "kernel results against real servers", len(after))


# ---- the extension -------------------------------------------------------------------------------


@per_build
def test_a_library_of_another_major_is_refused(build: Build) -> None:
    """That the magic block is looked at: what stands between a wrong declaration and a crash."""
    said = observe(build).of_another_major
    assert "incompatible library" in said


def test_the_builds_are_what_they_say() -> None:
    assert [build.version().split(".")[0] for build in BUILDS] == [str(build.major) for build in BUILDS]
    assert "Debian" in DEBIAN.version()
    assert sorted(EMBEDDED) == sorted(VERSIONS)
