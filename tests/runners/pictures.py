# SPDX-License-Identifier: PostgreSQL
"""Draws the counterexample of each finding anew: trace.json and picture.svg in its folder.

python -m tests.runners.pictures [--stem STEM]
"""

import subprocess
import sys

import click

from tests.runners.findings import FINDINGS, finding, found_by


@click.command()
@click.option("--stem", default="", help="Only the findings of this stem's models.")
def main(stem: str) -> None:
    """Draw them, one after the other."""
    for folder in sorted(path.parent for path in FINDINGS.glob("*/finding.toml")):
        run = finding(folder)["model"]
        row = found_by(run)
        if stem in ("", row):
            command = [sys.executable, "-m", "tools.show", "--stem", row, "--run", run, "--into", str(folder)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
