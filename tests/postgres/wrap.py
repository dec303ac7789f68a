# SPDX-License-Identifier: PostgreSQL
"""A cluster that is about to run out of 32-bit XIDs: its next transactions cross from 2^32 - 1 to 3."""

from __future__ import annotations

from tests.postgres.server import Server, extension

SIZE = 2**32
XIDS_PER_SEGMENT = 32 * 8192 * 4
"""Of pg_xact: 32 pages of 8192 bytes, four XIDs a byte."""
OLDEST_BEHIND = 100_000


def _freeze(server: Server) -> None:
    """Nothing may refer to a present XID: after the jump it would lie in the future."""
    with server.connect() as connection:
        connection.execute("VACUUM FREEZE")


def _provide_segment(server: Server, xid: int) -> None:
    segment = server.data / "pg_xact" / f"{xid // XIDS_PER_SEGMENT:04X}"
    if not segment.exists():
        segment.write_bytes(bytes(XIDS_PER_SEGMENT // 4))
        server._own(segment)


def move_next_to_wrap(server: Server, distance: int) -> None:
    """Restart a running server with 2^32 - distance as its next XID, in epoch 0.

    Debian's server has pg_resetwal. The embedded servers have none; the extension nextxid takes its place.
    """
    xid = SIZE - distance
    oldest = xid - OLDEST_BEHIND
    _freeze(server)
    if server.build.embedded:
        library = server.put(extension("nextxid", server.build.major))
        with server.connect() as connection:
            connection.execute(
                "CREATE FUNCTION set_next_xid(bigint, bigint) RETURNS void"
                f" AS '{library}', 'set_next_xid' LANGUAGE C STRICT".encode()
            )
            connection.execute("VACUUM FREEZE pg_proc, pg_depend")
            connection.execute(f"SELECT set_next_xid({xid}, {oldest})".encode())
        server.stop()
    else:
        server.stop()
        server.tool("pg_resetwal", "-x", str(xid), "-u", str(oldest), "-D", server.data)
    _provide_segment(server, xid)
    server.start()
    ((said,),) = server.execute("SELECT next_xid FROM pg_control_checkpoint()")
    if said != f"0:{xid}":
        raise RuntimeError(f"the next XID is {said}, not 0:{xid}")
