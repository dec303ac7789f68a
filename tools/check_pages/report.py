# SPDX-License-Identifier: PostgreSQL
"""What is said of a relation file whose pages were checked."""

from collections.abc import Iterator
from typing import Any

from pgquern.tornpage import checksums

from tools.check_pages.relation import Relation, Verdict, other_segment, right_block, said_of
from tools.common.relation_file import Cluster, fork

NEXT = (
    "What to do: if a server was writing the file, check a base backup of it instead, or stop the server. If it is"
    " stopped, keep a copy of the file, and restore from a backup with the log since; a standby may have sound pages."
    " Only then consider zero_damaged_pages, which throws the rows of a wrong page away. REINDEX makes an index again."
)
DAMAGED_ROWS = (
    "A server takes a page whose rows are damaged as it is, so zero_damaged_pages does not help: a query gives wrong"
    " rows or none, VACUUM fails, and the server may crash. Keep a copy of the file. Restore the table from a backup,"
    " or copy what can be read of it (COPY, block by block, with WHERE ctid) into a new one. verify_heapam of amcheck"
    " (14 and later) looks at the values of columns, too."
)
ANOTHER_KIND = "No catalog says that this is a heap: its pages may be those of another access method (pg_class.relam)."
NOT_SHUT_DOWN = (
    "pg_control says that the cluster was not shut down: it runs, or crashed. Recovery mends pages that were torn since"
    " the last checkpoint: start the server on a copy, shut it down, and check that, before you give anything up."
)
BACKUP = (
    "The folder is a base backup (backup_label): pages that were written meanwhile may be torn, and recovery from its"
    " log mends them: start the server on a copy, shut it down, and check that, before you give the backup up."
)
WORDS = {
    Verdict.NEW: "new (all zero)",
    Verdict.SOUND: "sound",
    Verdict.ROWS: "with damaged rows or entries",
    Verdict.HEADER: "with a broken header",
    Verdict.CHECKSUM: "with a wrong checksum",
}
FAULTS_A_PAGE = 5


def counts_of(verdicts: bytes) -> dict[Verdict, int]:
    """How many pages have which verdict."""
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def counted(counts: dict[Verdict, int]) -> str:
    """The same in words."""
    return ", ".join(f"{counts[verdict]:,} {WORDS[verdict]}" for verdict in Verdict if counts[verdict]) or "none"


def end_of(relation: Relation) -> list[str]:
    """What can be said of the file's end: bytes of a broken page, a segment that is too short, zeroed pages."""
    size, pages = relation.block_size, len(relation.verdicts)
    rest = relation.bytes - pages * size
    zeroed = pages - len(relation.verdicts.rstrip(bytes([Verdict.NEW])))
    said = []
    if rest:
        where = "follow the last page" if pages else "are all"
        said.append(
            f"TRUNCATED: {rest} bytes {where}, {size - rest} less than a page has. A server does not read them, and"
            " overwrites them when it extends the relation."
        )
    if relation.lacks_pages:
        said.append(
            f"TRUNCATED: the next segment exists, so this one must have {relation.segment_pages:,} pages; it has"
            f" {pages:,}. A server sees the relation end here: take the file from a backup."
        )
    if (lost := relation.lost_segment) is not None:
        said.append(
            f"LOST: segment {lost} of the relation is not there, and one after it is. A server sees the relation end"
            " before it: look for the file in lost+found, or take the relation from a backup."
        )
    if relation.too_long:
        said.append(
            f"TOO LONG: a segment of this cluster has at most {relation.segment_pages:,} pages; this one has {pages:,}."
            " A server stops with an error."
        )
    if zeroed:
        said.append(
            f"{f'the last {zeroed:,} pages' if zeroed > 1 else 'the last page'} ({zeroed * size:,} bytes, from byte"
            f" {(pages - zeroed) * size:,} on) {'are' if zeroed > 1 else 'is'} all zero. A server"
            " leaves such pages when it has extended a relation and did not fill them, at most some hundreds at a time."
            " If rows are missing or there are many, the file lost its end: compare with a backup."
        )
    if not rest and not relation.lacks_pages and lost is None:
        said.append(
            "whether whole pages are missing at the end, the file cannot tell: SELECT pg_relation_size('table') of a"
            " backup or a standby can."
        )
    return said


def advised(relation: Relation) -> list[str]:
    if (number := other_segment(relation)) is not None:
        name = f"16384.{number}" if number else "16384"
        return [f"What to do: the checksums are right for segment {number}: give the file such a name as {name}."]
    if relation.sound:
        return []
    cluster, rows = relation.cluster, Verdict.ROWS in relation.verdicts
    said = [BACKUP] * bool(cluster and cluster.is_backup) + [NEXT] + [DAMAGED_ROWS] * rows
    said += [NOT_SHUT_DOWN] * bool(cluster and cluster.ids.redo and not cluster.ids.shut_down)
    return said + [ANOTHER_KIND] * (rows and relation.kind == "heap" and not relation.rows.am)


def says_cluster(cluster: Cluster | None) -> str:
    if cluster is None:
        return (
            "no pg_control was found in the folders above: the pages themselves say their size, and are judged as those"
            " of a cluster with checksums"
        )
    checksums = "pages have checksums" if cluster.checksums else "CHECKSUMS ARE OFF: only the rest is checked"
    return f"pg_control of {cluster.path}: {cluster.block_size} bytes a page, {checksums}"


def faults(relation: Relation, most: int | None = None) -> Iterator[tuple[int, str]]:
    """The wrong pages, or the first of them: each one's index, and what is wrong with it."""
    with relation.path.open("rb") as file:
        for i in relation.wrong()[:most]:
            file.seek(i * relation.block_size)
            yield i, fault(file.read(relation.block_size), relation.first_block + i, relation)


def summary(relation: Relation) -> dict[str, Any]:
    """All that is found, with every wrong page."""
    counts, size, cluster = counts_of(relation.verdicts), relation.block_size, relation.cluster
    return {
        "file": str(relation.path),
        "table": relation.rows.table,
        "sound": relation.sound,
        "bytes": relation.bytes,
        "block_size": size,
        "pages": len(relation.verdicts),
        "first_block": relation.first_block,
        **{f"pages_{verdict.name.lower()}": counts[verdict] for verdict in Verdict},
        "cluster": cluster
        and {"path": str(cluster.path), "block_size": cluster.block_size, "checksums": cluster.checksums},
        "fork": fork(relation.path),
        "wrong": [
            {
                "block": relation.first_block + i,
                "byte": i * size,
                "verdict": Verdict(relation.verdicts[i]).name.lower(),
                "why": why,
            }
            for i, why in faults(relation)
        ],
        "lacks_pages": relation.lacks_pages,
        "lost_segment": relation.lost_segment,
        "too_long": relation.too_long,
        "rest_bytes": relation.bytes % size,
        "says": end_of(relation) + advised(relation),
    }


def fault(page: bytes, block: int, relation: Relation) -> str:
    """What is wrong with a page: its checksum, its header, its rows."""
    found = []
    if relation.checksums:
        (right,) = checksums(page, block_size=relation.block_size, first_block=block)
        has = int.from_bytes(page[8:10], "little")
        found.append(f"pd_checksum {has}, calculated {right}" if has != right else "pd_checksum is right")
        if has != right and (other := right_block(page, relation)) is not None:
            found.append(
                f"it is right for block {other}: the page was written to the wrong place, and that of here is lost"
            )
    header, *others = said_of(page, block, relation)
    more = [f"and {len(others) - FAULTS_A_PAGE} faults more"] if len(others) > FAULTS_A_PAGE else []
    return "; ".join(filter(None, [*found, header, *others[:FAULTS_A_PAGE], *more]))
