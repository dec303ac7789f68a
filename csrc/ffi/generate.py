# SPDX-License-Identifier: PostgreSQL
"""Writes the C source of the Python binding from the public header.

The header is the only place where the API is declared: cffi is given its text without the preprocessor lines (and
without the braces of extern "C").

    generate.py csrc/pgquern.h build/ffi-src/_pgquern.c
"""

import re
import sys
from pathlib import Path

from cffi import FFI

MODULE = "_pgquern"


def declarations(header: str) -> str:
    """The C declarations of a header: what is left without comments, directives and what only C++ sees."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.DOTALL)
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE)


def main(header: Path, target: Path) -> None:
    ffi = FFI()
    ffi.cdef(declarations(header.read_text()))
    ffi.set_source(MODULE, f'#include "{header.name}"')
    ffi.emit_c_code(str(target))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: generate.py HEADER TARGET.c")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
