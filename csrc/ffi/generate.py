# SPDX-License-Identifier: PostgreSQL
"""Writes the C source of the Python binding from the public headers.

Only the headers declare the API. The C compiler's preprocessor joins the headers that the umbrella includes; cffi gets
that text. Empty files replace the standard headers, since cffi knows their types. The compiler is $CC, or cc.

    generate.py csrc/pgquern.h build/ffi-src/_pgquern.c
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from cffi import FFI

MODULE = "_pgquern"
STANDARD = ("stdbool.h", "stddef.h", "stdint.h")


def declarations(header: Path) -> str:
    """All C declarations of a header and of the project's headers that it includes."""
    with tempfile.TemporaryDirectory() as empty:
        for name in STANDARD:
            Path(empty, name).touch()
        compiler = shlex.split(os.environ.get("CC") or "cc")
        command = [*compiler, "-E", "-P", "-nostdinc", "-I", empty, "-I", str(header.parent), str(header)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"^#.*$", "", text, flags=re.MULTILINE)


def main(header: Path, target: Path) -> None:
    """Writes `target`, to be compiled with the folder of `header` in the include path."""
    ffi = FFI()
    ffi.cdef(declarations(header))
    ffi.set_source(MODULE, f'#include "{header.name}"')
    ffi.emit_c_code(str(target))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: generate.py HEADER TARGET.c")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
