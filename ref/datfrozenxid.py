# SPDX-License-Identifier: PostgreSQL
"""The end of a vacuum: pg_database.datfrozenxid and datminmxid follow the oldest values in pg_class.

Upstream: src/backend/commands/vacuum.c, vac_update_datfrozenxid; src/backend/access/transam/transam.c,
TransactionIdPrecedes; src/backend/access/transam/multixact.c, MultiXactIdPrecedes; src/include/access/multixact.h,
MultiXactIdPrecedes. As of PostgreSQL 15.18; 13 to 18 compute the same. The
patched variant is "Check the syscache before updating datfrozenxid" (pgsql-hackers, July 2025).

An XID is an int of a ref.xid.Ring, and so is a MultiXactId: 0 is invalid in both, 1 and 2 are permanent among XIDs
only. Rows count from 1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ref.xid import INVALID, XID, Ring

RELKINDS = frozenset("rmt")
"""RELKIND_RELATION, RELKIND_MATVIEW, RELKIND_TOASTVALUE: the kinds of pg_class rows that hold XIDs."""


@dataclass(frozen=True)
class Ids:
    """The order of XIDs (TransactionIdPrecedes), or of MultiXactIds (MultiXactIdPrecedes: on the ring without
    exception)."""

    ring: Ring = XID
    multixact: bool = False

    def precedes(self, a: int, b: int) -> bool:
        return self.ring.difference(a, b) < 0 if self.multixact else self.ring.precedes(a, b)

    def is_normal(self, x: int) -> bool:
        return x != INVALID if self.multixact else self.ring.is_normal(x)


XIDS = Ids()
MULTIXACTS = Ids(multixact=True)


class Pair(NamedTuple):
    """A value for XIDs and one for MultiXactIds: relfrozenxid and relminmxid, datfrozenxid and datminmxid, ..."""

    xid: int
    multi: int


class Row(NamedTuple):
    """What the scan looks at in a row of pg_class."""

    relkind: str
    relfrozenxid: int
    relminmxid: int


class FutureError(ValueError):
    """A value lies in the future, so the scan gives up. index: its row, or its place in the array. multixact: it is a
    MultiXactId."""

    def __init__(self, index: int, multixact: bool) -> None:
        super().__init__(f"{'relminmxid' if multixact else 'relfrozenxid'} of row {index} lies in the future")
        self.index, self.multixact = index, multixact


def need_update(dat: int, new: int, sane: int, ids: Ids = XIDS) -> bool:
    """Shall `new` replace the stored value `dat`? It must not go back, unless `dat` itself lies in the future."""
    return dat != new and (ids.precedes(dat, new) or ids.precedes(sane, dat))


def min_frozen(values: Iterable[int], start: int, sane: int, ids: Ids = XIDS) -> int:
    """The oldest of the values and `start`. Invalid values do not count.

    sane: the next value to be assigned; what it precedes lies in the future. FutureError: the first such value.
    """
    oldest = start
    for i, x in enumerate(values, 1):
        if x == INVALID:
            continue
        if ids.precedes(sane, x):
            raise FutureError(i, ids.multixact)
        if ids.precedes(x, oldest):
            oldest = x
    return oldest


def min_frozen_rows(rows: Iterable[Row], start: Pair, sane: Pair, ring: Ring = XID) -> Pair:
    """The scan of pg_class: min_frozen() of both columns, row by row, the XID of a row first."""
    xids, multis = Ids(ring), Ids(ring, multixact=True)
    oldest = start
    for i, row in enumerate(rows, 1):
        if row.relkind not in RELKINDS:
            continue
        try:
            xid = min_frozen([row.relfrozenxid], oldest.xid, sane.xid, xids)
            multi = min_frozen([row.relminmxid], oldest.multi, sane.multi, multis)
        except FutureError as future:
            raise FutureError(i, future.multixact) from None
        oldest = Pair(xid, multi)
    return oldest


class Outcome(NamedTuple):
    """What a call of vac_update_datfrozenxid has done.

    stored: datfrozenxid and datminmxid of the pg_database row afterwards. passed: the values for vac_truncate_clog,
    None if the function gave up. dirty: the row was written. locked: its tuple lock was taken.
    """

    stored: Pair
    passed: Pair | None
    dirty: bool
    locked: bool


def _decide(dat: Pair, new: Pair, sane: Pair, ring: Ring) -> tuple[bool, bool]:
    """need_update() for both columns."""
    xids, multis = Ids(ring), Ids(ring, multixact=True)
    return need_update(dat.xid, new.xid, sane.xid, xids), need_update(dat.multi, new.multi, sane.multi, multis)


def _write(stored: Pair, new: Pair, sane: Pair, ring: Ring) -> Outcome:
    """Steps under the tuple lock: each column takes the new value, or the caller goes on with the stored one."""
    xid, multi = _decide(stored, new, sane, ring)
    after = Pair(new.xid if xid else stored.xid, new.multi if multi else stored.multi)
    return Outcome(after, after, dirty=xid or multi, locked=True)


def update(stored: Pair, rows: Iterable[Row], start: Pair, sane: Pair, ring: Ring = XID) -> Outcome:
    """vac_update_datfrozenxid as it is. start: the horizons; sane: the next values to be assigned."""
    try:
        new = min_frozen_rows(rows, start, sane, ring)
    except FutureError:
        return Outcome(stored, None, dirty=False, locked=False)
    return _write(stored, new, sane, ring)


def update_patched(
    cached: Pair | None, stored: Pair, rows: Iterable[Row], start: Pair, sane: Pair, ring: Ring = XID
) -> Outcome:
    """The function with the patch: a look at the syscache's copy of the row (None: there is none) comes first.

    The row is locked only if the copy is missing, holds an invalid value, or needs an update; the decision is then made
    again, with the stored values. Otherwise the values of the copy go to vac_truncate_clog.
    """
    try:
        new = min_frozen_rows(rows, start, sane, ring)
    except FutureError:
        return Outcome(stored, None, dirty=False, locked=False)
    if cached is None or INVALID in cached or any(_decide(cached, new, sane, ring)):
        return _write(stored, new, sane, ring)
    return Outcome(stored, cached, dirty=False, locked=False)
