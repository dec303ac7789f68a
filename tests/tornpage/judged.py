# SPDX-License-Identifier: PostgreSQL
"""A candidate's last call on pages: kept by the judge, and told; see tools/judge/last.py."""

import zlib
from base64 import b85encode
from typing import Any

from pgquern import tornpage

from ref import tornpage as ref
from tools.judge import xids as judge_xids
from tools.judge.kinds import Kind
from tools.judge.last import Call, Keeper, Told

BREAKS = "Writes pg_checksum_page of each of `count` pages to checksums[0 .. count)."


def keep(keeper: Keeper) -> None:
    """From now on the calls of the candidate are kept."""
    plain = tornpage.checksums

    def kept(pages: Any, *, block_size: int = 8192, first_block: int = 0, variant: str | None = None) -> list[int]:
        where = {"block_size": block_size, "first_block": first_block}
        if variant not in (None, "candidate") or len(memoryview(pages).cast("B")) > 1 << 20:
            return plain(pages, variant=variant, **where)
        with keeper(pages=bytes(pages).hex(), **where) as got:
            sums = plain(pages, variant=variant, **where)
            got["sums"] = sums
            return sums

    tornpage.checksums = kept


def words(kind: Kind) -> list[str]:
    """All words of the contract that a call can break."""
    return [BREAKS]


def told(kind: Kind, call: Call) -> Told | None:
    """What is wrong with a call; None: nothing, or it is refused."""
    pages, where = bytes.fromhex(call["given"].pop("pages")), call["given"]
    try:
        expected = ref.checksums(pages, **where)
    except ValueError:
        return None
    found = call.get("got", {}).get("sums", [])
    if found == expected:
        return None
    at = min(judge_xids.first_difference(expected, found), len(expected) - 1)
    says = judge_xids.says({"pages": len(expected)} | where, expected, found)
    size = where["block_size"]
    page = pages[at * size : (at + 1) * size]
    drawn = judge_xids.picture({"expected": expected, "got": found}, None)
    return Told(says, BREAKS, drawn, _regression(kind, page, size, where["first_block"] + at, expected[at]))


def _regression(kind: Kind, page: bytes, size: int, block: int, expected: int) -> str:
    text = b85encode(zlib.compress(page, 9)).decode()
    lines = "\n".join(f'    "{text[i : i + 100]}"' for i in range(0, len(text), 100))
    return (
        "import zlib\nfrom base64 import b85decode\n\nfrom pgquern.tornpage import checksums, variants\n\n"
        f'VARIANT = "candidate" if "candidate" in [v.name for v in variants()] else "{kind.like}"\n'
        f"PAGE = zlib.decompress(b85decode(\n{lines}\n))\n\n\n"
        f"def test_a_page_that_got_a_wrong_checksum() -> None:\n"
        f"    assert checksums(PAGE, block_size={size}, first_block={block}, variant=VARIANT) == [{expected}]\n"
    )
