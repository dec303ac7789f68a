# SPDX-License-Identifier: PostgreSQL
"""How many bytes does each protection write, for the same changes?

The C store runs over a device that counts. Pages are changed at random, 100 bytes at a time. A checkpoint follows when
each page was changed so many times on average, and writes back all that has changed. The log is flushed every 16
changes. Bytes are those of whole sectors of 4096 bytes, as a device gets them. The counts depend on no clock.
"""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import click
from pgquern.tornpage import File, Protection, Store
from rich.console import Console
from rich.table import Table

from tools.common import results
from tools.common.answer import json_option

SECTOR = 4096
PAGES = 256
CHANGE, FLUSH_EVERY, CHECKPOINTS = 100, 16, 3
NAMES = {
    Protection.ATOMIC: "atomic writes",
    Protection.IMAGES: "full page images",
    Protection.DOUBLE_WRITE: "double write",
}


@dataclass
class Counting:
    """A device in memory that counts the sectors written, and the syncs."""

    files: dict[int, bytearray] = field(default_factory=dict)
    written: Counter[int] = field(default_factory=Counter)
    syncs: int = 0

    def read(self, file: int, at: int, size: int) -> bytes:
        return bytes(self.files.get(file, b"")[at : at + size]).ljust(size, b"\0")

    def write(self, file: int, at: int, data: bytes) -> None:
        content = self.files.setdefault(file, bytearray())
        if len(content) < at + len(data):
            content.extend(bytes(at + len(data) - len(content)))
        content[at : at + len(data)] = data
        self.written[file] += (-(-(at + len(data)) // SECTOR) - at // SECTOR) * SECTOR

    def sync(self, file: int) -> None:
        self.syncs += 1


def measure(protection: Protection, block_size: int, changes_a_page: int) -> Counting:
    """The writes of the same changes, by one protection; those of making the store don't count."""
    device, rng = Counting(), Random(1)
    store = Store(device, protection=protection, block_size=block_size, pages=PAGES, log_capacity=1 << 25, slots=64)
    store.format()
    device.written.clear()
    device.syncs = 0
    for _ in range(CHECKPOINTS):
        for n in range(PAGES * changes_a_page):
            store.change(rng.randrange(PAGES), rng.randrange(24, block_size - CHANGE + 1), rng.randbytes(CHANGE))
            if n % FLUSH_EVERY == FLUSH_EVERY - 1:
                store.flush()
        store.checkpoint_begin()
        store.checkpoint_end()
    return device


@click.command()
@json_option()
def main(as_json: bool) -> None:
    """Print the table, and write it to build/results/."""
    table = Table(title="bytes written, times those with atomic writes; and syncs", title_justify="left")
    for heading in ("block", "changes a page", *(f"{name}: MB, ratio, log alone, syncs" for name in NAMES.values())):
        table.add_column(heading, justify="right")
    items = []
    for block_size in (8192, 16384):
        for changes in (1, 4, 16):
            found = {protection: measure(protection, block_size, changes) for protection in NAMES}
            least, least_log = (
                sum(found[Protection.ATOMIC].written.values()),
                found[Protection.ATOMIC].written[File.LOG],
            )
            row = [str(block_size), str(changes)]
            for protection, device in found.items():
                total = sum(device.written.values())
                log = device.written[File.LOG] / least_log
                row.append(f"{total / 1e6:.1f}, {total / least:.2f}, {log:.2f}, {device.syncs}")
                files = {file.name.lower(): device.written[file] for file in File}
                config = {"block": block_size, "changes_a_page": changes, "protection": NAMES[protection]}
                name = f"written/{NAMES[protection]}/block={block_size}/changes={changes}"
                items.append(
                    {"name": name, "status": "passed", "seconds": 0.0, "reason": "", "config": config}
                    | {
                        "bytes": files,
                        "syncs": device.syncs,
                        "ratio": round(total / least, 3),
                        "log_ratio": round(log, 3),
                    }
                )
            table.add_row(*row)
    result = results.write("written", "tornpage", items, says=f"{len(items)} counts", tools={})
    if as_json:
        click.echo(result.model_dump_json(indent=1))
    else:
        Console(soft_wrap=True, width=150).print(table)


if __name__ == "__main__":
    main()
