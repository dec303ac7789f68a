# SPDX-License-Identifier: PostgreSQL
"""The command `pgquern`, as pip installs it: it starts tools/pgquern, of the package or of the clone.

A package has what the command needs in its folder _house, which is on no path but this process's own. Where pip
installed the clone itself (pip install -e), the clone is the house, with the environment of its own if it is set up.
"""

import importlib
import os
import sys
from pathlib import Path

HOUSE = Path(__file__).with_name("_house")
CLONE = Path(__file__).resolve().parents[3]


def main() -> None:
    ready = CLONE / "build/venv/bin/pgquern"
    if not HOUSE.is_dir() and ready.exists():
        os.execv(ready, [str(ready), *sys.argv[1:]])
    sys.path.insert(0, str(HOUSE if HOUSE.is_dir() else CLONE))
    try:
        importlib.import_module("tools.pgquern.interrupts").end_the_program()
        command = importlib.import_module("tools.pgquern.__main__")
    except ModuleNotFoundError as error:
        print(f"pgquern needs {error.name}: install pgquern again, which brings it", file=sys.stderr)
        sys.exit(2)
    command.start()


if __name__ == "__main__":
    main()
