# SPDX-License-Identifier: PostgreSQL
"""The state of the sources, as a checksum: a shard's result counts as long as it is of this state."""

import hashlib
import subprocess
from pathlib import Path

from tools.farm.work import FARM

MARK = FARM / "tree"
"""The state of the last `make farm`. Its time is that of the last change: all shards older than it are stale."""
GENERATED = {"build", ".git", "__pycache__", ".hypothesis"}


def sources() -> list[Path]:
    """All files but documents and what is generated; in a copy without git, those that lie there."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, capture_output=True, text=True)
    names = map(Path, filter(None, listed.stdout.split("\0")))
    found = list(names) if listed.returncode == 0 else [path for path in Path().rglob("*") if path.is_file()]
    kept = {path for path in found if path.suffix != ".md" and not GENERATED & set(path.parts) and path.is_file()}
    return sorted(kept)


def state() -> str:
    """The checksum."""
    seen = hashlib.sha256()
    for path in sources():
        seen.update(f"{path}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return seen.hexdigest()[:20]


def mark() -> str:
    """Write the state down, if it has changed."""
    now = state()
    if not MARK.is_file() or MARK.read_text() != now:
        MARK.parent.mkdir(parents=True, exist_ok=True)
        MARK.write_text(now)
    return now
