# SPDX-License-Identifier: PostgreSQL
"""Sets the paper: build/paper/pgquern.pdf, and data.json beside it, the numbers that are in it.

    python -m tools.paper [--into FOLDER] [--png]

Typst sets it, with the fonts of its own package: the same pages on every machine, and no network.
"""

import json
from pathlib import Path
from typing import Any

import click
import typst

from tools.paper import data, figures

TEXT = Path(__file__).with_name("paper.typ")
INTO = Path("build/paper")


def set_up(found: dict[str, Any]) -> dict[str, Any]:
    """What Typst is called with: the data are given as text, so that they need not lie below the tree."""
    return {"root": str(Path().resolve()), "ignore_system_fonts": True, "sys_inputs": {"data": json.dumps(found)}}


@click.command(help=__doc__)
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=INTO, show_default=True)
@click.option("--figures", "folder", type=click.Path(path_type=Path), default=figures.FOLDER, show_default=True)
@click.option("--png", is_flag=True, help="Also write each page as a picture.")
def main(into: Path, folder: Path, png: bool) -> None:
    """Write the paper."""
    found = data.collect(folder)
    into.mkdir(parents=True, exist_ok=True)
    (into / "data.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    pdf = into / "pgquern.pdf"
    try:
        typst.compile(str(TEXT), output=str(pdf), **set_up(found))
        if png:
            typst.compile(str(TEXT), output=str(into / "page-{p}.png"), format="png", ppi=110.0, **set_up(found))
    except typst.TypstError as error:
        raise click.ClickException(f"Typst cannot set {TEXT}: {error}: correct the text") from error
    click.echo(f"paper: {pdf}")


if __name__ == "__main__":
    main()
