# SPDX-License-Identifier: PostgreSQL
"""Which instructions a source uses is read off its text."""

from pathlib import Path

import pytest

from tests.instructions.used import UnreadError, in_text, used

SOURCE = """
/* _mm_comment_epi8(1) */
enum { LINE = 64, LANES = LINE / 2, XOR = 0x96 }; // _mm_other
v = _mm_slli_epi16(_mm_loadl_epi64(p), 7) + _mm_alignr_epi8(f(a, b), zero, LANES / 2 - 1);
w = _mm_shuffle_epi32(y, _MM_SHUFFLE(1, 0, 3, 2)) | _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
n = (uint32_t)_tzcnt_u32(m); x = a_mm_b; __asm__ volatile("vpcompressw %0, %0" : "+v"(v));
"""
WITH = {"_mm_slli_epi16", "_mm_alignr_epi8", "_mm_shuffle_epi32", "_mm512_shuffle_epi32"}


def test_a_source_is_read() -> None:
    assert list(in_text(SOURCE, WITH)) == [
        "_mm_slli_epi16 7", "_mm_loadl_epi64", "_mm_alignr_epi8 15", "_mm_shuffle_epi32 78", "_mm512_shuffle_epi32 255",
        "_tzcnt_u32", "vpcompressw",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["_mm_slli_epi16(v, n)", "_mm_slli_epi16(v, 1", "f = _mm_slli_epi16;", "_mm_slli_epi16(v, a b)"]
)
def test_an_immediate_that_is_no_constant_is_refused(text: str) -> None:
    with pytest.raises(UnreadError):
        list(in_text(text, WITH))


def test_a_new_instruction_and_a_new_immediate_are_found(tmp_path: Path) -> None:
    """Of the sources as they are, with one more file."""
    table = {"_mm_slli_epi16 7", "_mm_loadl_epi64", "vextq_u16 3"}
    (tmp_path / "a.c").write_text("_mm_slli_epi16(_mm_loadl_epi64(p), 7);")
    (tmp_path / "own.h").write_text("#define TWO 2\n")
    (tmp_path / "a_neon.c").write_text("vext_t v_u = vextq_u16(a, v_u, TWO + 1);")
    assert set(used(table, tmp_path)) == table
    (tmp_path / "b.h").write_text("_mm_slli_epi16(v, 8); _mm_srli_epi16(v, 7); _mm_loadl_epi64(p);")
    (tmp_path / "b_neon.c").write_text("vreinterpretq_u16_u32(vshrq_n_u32(a, 9));")
    found = used(table, tmp_path)
    assert set(found) - table == {"_mm_slli_epi16 8", "_mm_srli_epi16", "vreinterpretq_u16_u32", "vshrq_n_u32"}
    assert found["_mm_loadl_epi64"] == ["a.c", "b.h"]
