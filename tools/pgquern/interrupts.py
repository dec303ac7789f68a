# SPDX-License-Identifier: PostgreSQL
"""Ctrl-C. While modules are imported it ends the program at once, as by the signal; then it is a KeyboardInterrupt."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def end_the_program() -> None:
    """From here on, unless whoever started the program has them ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def raised() -> Iterator[None]:
    """Where end_the_program was called, they raise KeyboardInterrupt within this block."""
    ends = signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    if ends:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ends:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
