# SPDX-License-Identifier: PostgreSQL
"""Sessions of a real server that stand still where a test wants them: they are stopped, and see nothing of it.

A session is brought to its place by what others keep from it (extensions/standstill.c). That it is there is seen by its
wait_event, and by the state of its process. Nothing depends on how long anything takes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from tests.postgres.server import Server, extension, wait_for

FUNCTIONS = {
    "hold_page(oid, int)": "hold_page",
    "hold_wrap_limits()": "hold_wrap_limits",
    "stop_at_row()": "stop_at_row",
}
Rows = list[tuple[Any, ...]]


class Session:
    """A connection, and a thread of its own: `send` does not wait for the statement's end, `run` does."""

    open: ClassVar[list[Session]] = []

    def __init__(self, server: Server, dbname: str = "postgres") -> None:
        self.server = server
        self.connection = server.connect(dbname=dbname)
        self.pid = self.connection.info.backend_pid
        self.notices: list[str] = []
        self.connection.add_notice_handler(lambda notice: self.notices.append(str(notice.message_primary)))
        self._thread = ThreadPoolExecutor(1)
        self._sent: Future[Rows] | None = None

    def __enter__(self) -> Self:
        Session.open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is not None:  # a test has failed: sessions may still stand still, or wait for each other
            for session in Session.open:
                session.go_on()
            self.connection.cancel()
        self._thread.shutdown()
        Session.open.remove(self)
        self.connection.close()

    def _execute(self, query: str) -> Rows:
        cursor = self.connection.execute(query.encode())
        return cursor.fetchall() if cursor.description else []

    def send(self, query: str) -> None:
        self._sent = self._thread.submit(self._execute, query)

    def result(self) -> Rows:
        assert self._sent is not None
        return self._sent.result()

    @property
    def ended(self) -> bool:
        """Has the statement that was sent last come to its end?"""
        return self._sent is not None and self._sent.done()

    def run(self, query: str) -> Rows:
        self.send(query)
        return self.result()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """What it was sent must not end before."""

        def holds() -> bool:
            if self.ended:
                raise AssertionError(f"not {what}, but ended: {self.result()}")
            return condition()

        wait_for(holds, what)

    @property
    def stopped(self) -> bool:
        stat = Path(f"/proc/{self.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def until_stopped(self) -> None:
        self.until(lambda: self.stopped, "a session that stands still")

    def stand_still(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        self.until_stopped()

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


class Watcher(Session):
    """Looks at other sessions, without a look at any table."""

    def until_waits(self, session: Session, event: str) -> None:
        def waits() -> bool:
            return (event,) in self.run(f"SELECT wait_event FROM pg_stat_get_activity({session.pid})")

        session.until(waits, f"a session that waits for {event}")


def create_functions(server: Server) -> None:
    library = server.put(extension("standstill", server.build.major))
    for signature, symbol in FUNCTIONS.items():
        server.execute(f"CREATE FUNCTION {signature} RETURNS void AS '{library}', '{symbol}' LANGUAGE C STRICT")


@contextmanager
def keeps(server: Server, what: str) -> Iterator[None]:
    """Within it another session keeps what the function holds."""
    with Session(server) as session:
        session.send(f"SELECT {what}")
        session.until_stopped()
        try:
            yield
        finally:
            session.go_on()
        session.result()
