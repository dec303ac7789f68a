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
TRIES = 3
"""How often it may look: it ends its process where it cannot, at times for a cause that it does not say."""
ON_PURPOSE = """
import ctypes, sys
from tests.common import leaks
malloc = ctypes.CDLL(None).malloc
for _ in range(100):
    malloc(4321)
sys.stderr.write(leaks.report())
"""


class BlindError(Exception):
    """LeakSanitizer runs here, and overlooks a leak that was made on purpose."""


class UnableError(Exception):
    """LeakSanitizer runs here, and cannot look at this process."""


def report() -> str:
    """What LeakSanitizer prints of the leaks at this moment. UnableError: it cannot look.

    A fork looks, since LeakSanitizer ends its process where it cannot.
    """
    if CHECK is None:
        raise RuntimeError("no LeakSanitizer: run under AddressSanitizer, as `make test ONLY=asan` does")
    gc.collect()
    sys.stderr.flush()
    said = ""
    for _ in range(TRIES):
        with tempfile.TemporaryFile() as file:
            if (child := os.fork()) == 0:
                os.dup2(file.fileno(), 2)
                CHECK()
                os._exit(0)
            ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            file.seek(0)
            said = file.read().decode(errors="replace")
        if ended == 0:
            return said
    raise UnableError(f"LeakSanitizer could not look at this process, {TRIES} times: {said[-2000:]}")


def why_not() -> str:
    """Why leaks cannot be looked for in this place; empty if they can. BlindError: it looks and sees nothing."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(TRIES):
        tried = subprocess.run([sys.executable, "-c", ON_PURPOSE], capture_output=True, text=True, env=environment)
        if "LeakSanitizer: detected memory leaks" in tried.stderr:
            return ""
    if UNABLE in tried.stderr:
        return NO_PTRACE
    raise BlindError(f"a leak made on purpose was not seen: {tried.stderr[-2000:]}")


def of_library(said: str, library: str = OURS) -> list[str]:
    """Of a report, the leaks whose first frame outside the allocator matches `library`."""
    found = []
    for leak in re.findall(r"^(?:Direct|Indirect) leak of .*\n(?: +#\d.*\n)+", said, re.MULTILINE):
        callers = [frame for frame in re.findall(r"#\d+ .*", leak) if not re.search(ALLOCATOR, frame)]
        if callers and re.search(library, callers[0]):
            found.append(leak)
    return found
