# SPDX-License-Identifier: PostgreSQL
"""Records which pages a real server asks its files for, below a small shared_buffers.

    python -m tests.tiercache.record        (about a minute; writes bench/tiercache/traces/server16.xz)

strace follows one backend of a PostgreSQL 16 with 32 buffers, so nearly every reference to a page is a pread of it. The
work is like pgbench's: accounts chosen by a skewed law, their tellers and branches, a history that grows; between, now
and then, a scan of all accounts, an index scan of a range, and a vacuum. The trace has a line for each pread and pwrite
of a relation: the page's number, where each file has numbers of its own, one after the other.
"""

import lzma
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click
from psycopg import Connection

from tests.postgres.server import EMBEDDED, Server, wait_for

TRACE = Path("bench/tiercache/traces/server16.xz")
SETTINGS: dict[str, str | int] = {"shared_buffers": "256kB", "bgwriter_lru_maxpages": 0, "checkpoint_timeout": "1h"}
ACCOUNTS, TELLERS, BRANCHES = 200_000, 200, 20
CALL = re.compile(
    rb"^(?:pread64|pwrite64)\(\d+<[^>]*/base/(\d+/\d+(?:_\w+)?)(?:\.\d+)?>.*, (\d+)\) = 8192$", re.MULTILINE
)


def make_tables(session: Connection) -> None:
    for name, rows in (("accounts", ACCOUNTS), ("tellers", TELLERS), ("branches", BRANCHES)):
        session.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, balance int, filler char(84))")
        session.execute(f"INSERT INTO {name} SELECT i, 0, '' FROM generate_series(1, {rows}) i")
    session.execute("CREATE TABLE history (account int, teller int, delta int, at timestamptz, filler char(22))")
    session.execute("VACUUM ANALYZE")


def transaction(session: Connection, rng: Random) -> None:
    """As pgbench's. Few accounts have most of the transactions, and they lie anywhere."""
    rank = int(ACCOUNTS ** rng.random())
    account = rank * 7919 % ACCOUNTS + 1
    teller, delta = rng.randint(1, TELLERS), rng.randint(-5000, 5000)
    session.execute("BEGIN")
    session.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (delta, account))
    session.execute("SELECT balance FROM accounts WHERE id = %s", (account,))
    session.execute("UPDATE tellers SET balance = balance + %s WHERE id = %s", (delta, teller))
    session.execute("UPDATE branches SET balance = balance + %s WHERE id = %s", (delta, teller % BRANCHES + 1))
    session.execute("INSERT INTO history VALUES (%s, %s, %s, now(), '')", (account, teller, delta))
    session.execute("COMMIT")


def work(session: Connection, transactions: int) -> None:
    rng = Random(1)
    for n in range(1, transactions + 1):
        transaction(session, rng)
        if n % 100 == 0:
            low = rng.randrange(ACCOUNTS)
            session.execute("SELECT sum(balance) FROM accounts WHERE id BETWEEN %s AND %s", (low, low + 3000))
        if n % (transactions // 3) == 0:
            session.execute("SELECT sum(balance) FROM accounts")
    session.execute("VACUUM tellers, branches, history")


def pages_of(strace: bytes) -> Iterator[int]:
    """The page of each call, in order; a file's numbers begin where those of the file before end."""
    calls = [(name, int(offset) // 8192) for name, offset in CALL.findall(strace)]
    size: dict[bytes, int] = {}
    for name, block in calls:
        size[name] = max(size.get(name, 0), block + 1)
    first, total = {}, 0
    for name, blocks in size.items():
        first[name], total = total, total + blocks
    return (first[name] + block for name, block in calls)


@click.command()
@click.option("--transactions", default=30_000, show_default=True)
def main(transactions: int) -> None:
    """Record the trace anew."""
    with Server(EMBEDDED[16], SETTINGS) as server, server.connect() as session, tempfile.TemporaryDirectory() as folder:
        make_tables(session)
        out = Path(folder) / "strace"
        command = ["strace", "-p", str(session.info.backend_pid), "-y", "-s", "0", "-o", str(out)]
        with subprocess.Popen([*command, "-e", "trace=pread64,pwrite64"], stderr=subprocess.PIPE, text=True) as strace:
            assert strace.stderr is not None
            strace.stderr.readline()  # that it is attached
            work(session, transactions)
            strace.terminate()
        wait_for(lambda: strace.poll() is not None, "strace")
        pages = list(pages_of(out.read_bytes()))
    text = "".join(f"{page}\n" for page in pages)
    TRACE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    click.echo(f"{TRACE}: {len(pages):,} references to {len(set(pages)):,} pages, {TRACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
