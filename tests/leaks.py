# SPDX-License-Identifier: PostgreSQL
"""Memory that the C library has allocated and that nothing points to any more: looked for at the end of a run.

LeakSanitizer must be there, as it is under AddressSanitizer with detect_leaks=1. Python never frees some of its own
memory, and that is no concern of ours: a leak counts if the function that asked for the memory is the library's.
Processes that a test starts look for nothing (leak_check_at_exit=0): what they print stays what the test expects.
"""

import ctypes
import gc
import os
import re
import subprocess
import sys
import tempfile

CHECK = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
"""None: no LeakSanitizer here."""
OURS = r"(^|[ /(])csrc/|_pgquern"
"""A frame of the library: by its source, or by its file if it was built without debug information."""
ALLOCATOR = r"libasan|liblsan|libclang_rt|libc\.so|compiler-rt|sanitizer"
UNABLE = "LeakSanitizer has encountered a fatal error"
"""What it says where it may not stop the threads of its process, before it ends the process."""
NO_PTRACE = "LeakSanitizer may not stop threads here: this container forbids ptrace, or a tracer is attached"
ON_PURPOSE = """
import ctypes
from tests import leaks
malloc = ctypes.CDLL(None).malloc
for _ in range(100):
    malloc(4321)
leaks.CHECK()
"""


class BlindError(Exception):
    """LeakSanitizer runs here, and overlooks a leak that was made on purpose."""


def report() -> str:
    """What LeakSanitizer prints of the leaks at this moment; it ends the process where it cannot look."""
    if CHECK is None:
        raise RuntimeError("no LeakSanitizer: run under AddressSanitizer, as `make test-asan` does")
    gc.collect()
    with tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            CHECK()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        file.seek(0)
        return file.read().decode(errors="replace")


def why_not() -> str:
    """Why leaks cannot be looked for in this place; empty if they can. BlindError: it looks and sees nothing."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    tried = subprocess.run([sys.executable, "-c", ON_PURPOSE], capture_output=True, text=True, env=environment)
    if UNABLE in tried.stderr:
        return NO_PTRACE
    if "LeakSanitizer: detected memory leaks" not in tried.stderr:
        raise BlindError(f"a leak made on purpose was not seen: {tried.stderr[-2000:]}")
    return ""


def of_library(said: str, library: str = OURS) -> list[str]:
    """Of a report, the leaks whose first frame outside the allocator matches `library`."""
    found = []
    for leak in re.findall(r"^(?:Direct|Indirect) leak of .*\n(?: +#\d.*\n)+", said, re.MULTILINE):
        callers = [frame for frame in re.findall(r"#\d+ .*", leak) if not re.search(ALLOCATOR, frame)]
        if callers and re.search(library, callers[0]):
            found.append(leak)
    return found
