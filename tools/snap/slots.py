# SPDX-License-Identifier: PostgreSQL
"""Replication slots, as the files of pg_replslot have them, without a server; and which .snap files they keep.

Upstream: src/backend/replication/slot.c (ReplicationSlotOnDisk, RestoreSlotFromDisk), src/include/replication/slot.h
(ReplicationSlotPersistentData), src/backend/replication/logical/snapbuild.c (CheckPointSnapBuild), 13 to 18, as a
server for 64 bits and little-endian writes them. A server that runs may have moved a slot on since its last checkpoint.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from tools.common.crc32c import crc32c
from tools.common.relation_file import os_words
from tools.snap.file import lsn, lsn_of

MAGIC = 0x1051CA1
PREFIX = struct.Struct("<4I")
FIXED = struct.Struct("<64sIIIIQQQ")
"""name, database, persistency, xmin, catalog_xmin, restart_lsn, what made it invalid (since 16 a number), the rest."""
MOST = 1 << 16


class NoSlotError(ValueError):
    """A file that no server takes."""


@dataclass(frozen=True)
class Slot:
    """A slot; `database` is an OID, 0 of a physical one. LSNs and XIDs are 0 where there is none."""

    name: str
    database: int
    xmin: int
    catalog_xmin: int
    restart_lsn: int
    confirmed_flush: int
    invalid: bool


def decode(content: bytes) -> Slot:
    """NoSlotError: it is cut, foreign, or its checksum is wrong."""
    if len(content) < PREFIX.size + FIXED.size:
        raise NoSlotError(f"{len(content)} bytes, fewer than a slot has")
    magic, checksum, _, length = PREFIX.unpack_from(content)
    if magic != MAGIC:
        raise NoSlotError(f"the magic number is {magic:#x}, and {MAGIC:#x} of a slot's file")
    if not FIXED.size <= length <= len(content) - PREFIX.size:
        raise NoSlotError(f"it says {length} bytes after the first {PREFIX.size}, and has {len(content) - PREFIX.size}")
    if (right := crc32c(content[8 : PREFIX.size + length])) != checksum:
        raise NoSlotError(f"checksum {checksum:#010x}, calculated {right:#010x}")
    name, database, _, xmin, catalog_xmin, restart, invalid, confirmed = FIXED.unpack_from(content, PREFIX.size)
    text = name.split(b"\0")[0].decode(errors="backslashreplace")
    return Slot(text, database, xmin, catalog_xmin, restart, confirmed, invalid != 0)


def slots_of(data: Path) -> tuple[list[Slot], list[str]] | None:
    """The slots of a data directory, and what is wrong with those that cannot be read; None: it has no pg_replslot."""
    folder = data / "pg_replslot"
    if not folder.is_dir():
        return None
    found, faults = list[Slot](), list[str]()
    for path in sorted(folder.glob("*/state")):
        try:
            with path.open("rb") as file:
                found.append(decode(file.read(MOST)))
        except NoSlotError as error:
            faults.append(f"WRONG: slot {path.parent.name}: {error}. A server does not start with it; keep a copy.")
        except OSError as error:
            faults.append(f"{path}: {os_words(path, error)}")
    return found, faults


def summary(files: Sequence[Path]) -> Iterator[str]:
    """Of a folder of .snap files: their places in the log, their bytes, and which slot keeps them."""
    places = sorted(place for file in files if (place := lsn_of(file.name)) is not None)
    if not places:
        return
    steps = [after - before for before, after in pairwise(places)]
    size = sum(file.stat().st_size for file in files if file.exists())
    often = f"; one for {median(steps):,.0f} bytes of log, as running-xacts records came (median)" if steps else ""
    yield f"  {lsn(places[0])} to {lsn(places[-1])}, {size:,} bytes{often}"
    if (found := slots_of(files[0].absolute().parents[2])) is None:
        yield "  there is no pg_replslot two folders above: which slot keeps them is not known"
        return
    slots, faults = found
    yield from (f"  {fault}" for fault in faults)
    logical = sorted((s for s in slots if s.database and s.restart_lsn and not s.invalid), key=lambda s: s.restart_lsn)
    if not logical:
        yield "  no logical slot needs them: the next checkpoint removes them all"
        return
    holder = logical[0]
    kept = sum(place >= holder.restart_lsn for place in places)
    yield (
        f"  KEPT by slot {holder.name} (database {holder.database}): {kept:,}, from its restart_lsn"
        f" {lsn(holder.restart_lsn)} on; it has confirmed {lsn(holder.confirmed_flush)}, its catalog_xmin is"
        f" {holder.catalog_xmin}. The next checkpoint removes the {len(places) - kept:,} before that"
    )
    if len(logical) > 1:
        after = logical[1]
        let_go = sum(holder.restart_lsn <= place < after.restart_lsn for place in places)
        yield f"  without it slot {after.name} keeps those from {lsn(after.restart_lsn)} on: {let_go:,} fewer"
    yield (
        f"  What would let them go: the consumer of {holder.name} reads on and confirms, and the transactions end that"
        " were open at its restart_lsn; or, if nobody reads it any more, drop it"
        f" (SELECT pg_drop_replication_slot('{holder.name}')): it holds back VACUUM of the catalogs, and the log, too"
    )
