# SPDX-License-Identifier: PostgreSQL
"""Break one thing at a time, and see what tells: in C, oracles, models, proofs and all else that changes are made of.

Of all changes of a stem and layer some are tried, chosen by their checksums: the same each time. One that nothing tells
must be listed with a reason in survivors.toml, in the stem's folder of tests/, spec/ or proofs/. A change by hand
(tests/<stem>/changes.toml) must be told by each killer that it names.
"""

import shlex
import time
from collections.abc import Sequence

import click

from tests.changes import hand, layers
from tests.changes.build import Compiler, Compilers
from tests.changes.engine import Trial
from tools.common import shards, survivors

SHARD = 25
"""Changes that a shard tries."""


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--layer", default="", help=f"Only these layers, with commas between: {', '.join(layers.LAYERS)}.")
@click.option("--number", type=int, help="Of each stem and layer, in place of what survivors.toml says; 0: none.")
@click.option("--name", default="", help="Only the changes whose names begin so. No result is written.")
@click.option("--jobs", default=2, show_default=True, help="At a time.")
@click.option("--part", default="0/1", show_default=True, help="I/N: of each N changes the one with the rest I.")
@click.option("--list", "lists", is_flag=True, help="Print the shards, and try nothing.")
@click.option("--cflags", default="", help="Flags of the ordinary build.")
@click.option("--world", default="", help="Flags of a world.")
@click.option("--asan", default="", help="Flags under ASan and UBSan.")
@click.option("--threads", default="", help="Flags under ThreadSanitizer.")
@click.option("--cross", default="", help="Flags for another machine.")
@click.option("--isa", multiple=True, help="LEVEL=FLAGS: further ones for files whose names end so, lowest first.")
def main(
    stem: str,
    layer: str,
    number: int | None,
    name: str,
    jobs: int,
    part: str,
    lists: bool,
    cflags: str,
    world: str,
    asan: str,
    threads: str,
    cross: str,
    isa: Sequence[str],
) -> None:
    split = (entry.partition("=") for entry in isa)
    levels = {level: shlex.split(flags) for level, _, flags in split}
    plain, worlds, sanitized, raced = (shlex.split(flags) for flags in (cflags, world, asan, threads))
    compilers = Compilers(
        Compiler([*plain, "-g0"], levels),
        Compiler(worlds, levels),
        Compiler(sanitized, levels),
        Compiler(raced, levels, "clang"),
        shlex.split(cross),
    )
    which, _, parts = part.partition("/")
    chosen = layer.split(",") if layer else list(layers.LAYERS)
    if unknown := set(chosen) - set(layers.LAYERS):
        raise click.UsageError(f"no layer {', '.join(sorted(unknown))}; there are {', '.join(layers.LAYERS)}")
    failed = []
    try:
        for each in chosen:
            for of in layers.stems(each, stem):
                planned, listed = layers.listed(each, of)
                wanted = planned if number is None else number
                if lists:
                    n = max(1, -(-wanted // SHARD))
                    for i in range(n):
                        shards.say(of, f"{each}-{i}-of-{n}", LAYER=each, NUMBER=wanted, PART=f"{i}/{n}")
                    continue
                start = time.monotonic()
                row = layers.LAYERS[each].row(of, compilers)
                place = (int(which), int(parts or 1))
                settings = f"{compilers.plain} {compilers.world} {compilers.cross}"
                trial = Trial(row, each, wanted, listed, number is not None, place, name, settings)
                if not trial.report(trial.run(jobs), time.monotonic() - start):
                    failed.append(f"{of} ({each})")
    except (hand.ListError, survivors.ListError) as error:
        raise click.ClickException(str(error)) from error
    if failed:
        raise click.ClickException(f"changes live, or are listed and do not: {', '.join(failed)}")


if __name__ == "__main__":
    main()
