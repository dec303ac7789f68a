# SPDX-License-Identifier: PostgreSQL
"""A server whose PageRepairFragmentation is one of our kernels, by the preload library (extensions/preload.c)."""

from __future__ import annotations

import re

from tests.postgres.server import Server, extension


def use_kernel(server: Server, variant: str | None) -> dict[str, str | int]:
    """Prepare a stopped server to start with a kernel; None: with its own function.

    Returns the setting to be put into its configuration beside the others.
    """
    if variant is None:
        server.environment = {}
        return {}
    server.environment = {"PGQUERN_PRELOAD": variant}
    return {"shared_preload_libraries": str(server.put(extension("preload", server.build.major)))}


def calls(server: Server, variant: str) -> int:
    """How many pages the kernel has compacted, by the log, in the processes that have ended."""
    return sum(int(n) for n in re.findall(rf'kernel "{variant}" compacted (\d+) pages', server.log_text()))
