# SPDX-License-Identifier: PostgreSQL
"""What a process needs in its environment to load a binding under ASan and UBSan."""

import subprocess

FLAG = "-fsanitize=address,undefined"


def environment() -> dict[str, str]:
    """Python itself is not sanitized: the library comes first, and each allocation is the system's."""
    library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    return {
        # Two frames of each allocation's stack are kept: Python allocates all the time.
        "ASAN_OPTIONS": "detect_leaks=1:leak_check_at_exit=0:allocator_may_return_null=1:"
        "detect_stack_use_after_return=0:malloc_context_size=2",
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": library,
    }
