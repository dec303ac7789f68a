# SPDX-License-Identifier: PostgreSQL
"""Break one thing at a time, and see what tells: in C, oracles, models, proofs and all else that changes are made of.

Of all changes of a stem and layer some are tried, chosen by their checksums: the same each time. One that nothing tells
must be listed with a reason in survivors.toml, in the stem's folder of tests/, spec/ or proofs/. A change by hand
(tests/<stem>/changes.toml) must be told by each killer that it names.
"""

import shlex
import time
from collections.abc import Sequence
from os import sched_getaffinity

import click

from tests.changes import hand, layers
from tests.changes.build import Compiler, Compilers
from tests.changes.change import Change
from tests.changes.engine import LAYER, Trial, written
from tools.common import results, shards, survivors

SHARD = 25
"""Changes that a shard tries."""


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--layer", default="", help=f"Only these layers, with commas between: {', '.join(layers.LAYERS)}.")
@click.option("--number", type=int, help="Of each stem and layer, in place of what survivors.toml says.")
@click.option("--name", default="", help="Only the changes whose names begin so, or --number of them. No result.")
@click.option("--jobs", default=len(sched_getaffinity(0)), help="At a time; as many as there are CPUs.")
@click.option("--quick", is_flag=True, help="One by hand of each stem. Results go to changes-quick.")
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
    quick: bool,
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
    i, _, n = part.partition("/")
    chosen = ["hand"] if quick else layer.replace(",", " ").split() or list(layers.LAYERS)
    if unknown := set(chosen) - set(layers.LAYERS):
        raise click.UsageError(f"no layer {', '.join(sorted(unknown))}; there are {', '.join(layers.LAYERS)}")
    failed, named, there = [], list[Change](), list[Change]()
    try:
        for of in layers.stems(stem):
            ran, start = {}, time.monotonic()
            for each in layers.of(of, chosen):
                planned, listed = layers.listed(each, of)
                wanted = planned if number is None else number
                if lists:
                    list_shards(of, each, wanted)
                    continue
                row, began = layers.LAYERS[each].row(of, compilers), time.monotonic()
                settings = f"{compilers.plain} {compilers.world} {compilers.cross}"
                trusts, place = number is not None, (int(i), int(n))
                wanted = number if name else wanted
                trial = Trial(row, each, wanted, listed, trusts, place, name, quick, settings)
                if name:
                    there += row.changes()
                    named += trial.chosen()
                items, says, fine = trial.report(trial.run(jobs), time.monotonic() - began)
                ran[each] = items, says
                failed += [] if fine else [f"{of} ({each})"]
            if ran and not name:
                written(of, ran, LAYER + results.QUICK * quick, time.monotonic() - start)
    except (hand.ListError, survivors.ListError) as error:
        raise click.ClickException(str(error)) from error
    if there and not named:
        raise click.ClickException(f"no change has a name that begins with {name}; one is {there[0].name}")
    if failed:
        raise click.ClickException(f"changes live, or are listed and do not: {', '.join(failed)}")


def list_shards(stem: str, layer: str, number: int | None) -> None:
    """Print the shards of a stem in a layer."""
    n = max(1, -(-(len(hand.load(stem).change) if number is None else number) // SHARD))
    for i in range(n):
        words = {"LAYER": layer, "PART": f"{i}/{n}"} | ({} if number is None else {"NUMBER": number})
        shards.say(stem, f"{layer}-{i}-of-{n}", **words)


if __name__ == "__main__":
    main()
