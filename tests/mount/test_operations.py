# SPDX-License-Identifier: PostgreSQL
"""The mount does the writes and syncs of the proof (proofs/tornpage/Mount.v), in its order, beside failures, kills and
power losses, too.

crash.c records each call. The extracted program says which operation is to come, whether an fsync may return, and
whether a kernel and a device that the theorems allow can leave what stands in the files. At the end each page reads as
it says.
"""

import os
import random
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.common.extraction import program
from tests.mount.mounted import CRASH, Mount
from tests.mount.test_crash import FILES, PAGE, contents, made

AREA = ".pgquern-area"
PAGES = 7
RECORD = struct.Struct("<QQQcc6x")
HEADER = struct.Struct("<QQIIII")
ENTRY = struct.Struct("<QII")
HALF = PAGE // 2


class Proof:
    """The proved mount. Halves of pages are numbers to it."""

    def __init__(self) -> None:
        path = program("tornpage_mount")
        assert path.exists(), f"{path} is not built: run `make oracle`"
        self.program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.halves: dict[bytes, int] = {}
        self.next = ""

    def ask(self, line: str) -> str:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.write(f"{line}\n")
        self.program.stdin.flush()
        return self.program.stdout.readline().strip()

    def tell(self, line: str) -> None:
        self.next = self.ask(line)
        assert not self.next.startswith("refused"), f"{line}: {self.next}"

    def does(self, operation: str, came: str) -> None:
        """This came: it worked (g), failed (f), or the program ended in it (h): then half of what it wrote is there."""
        assert self.next == operation
        if came == "g":
            self.tell("go")
        elif came == "f" or not operation.startswith("sync"):
            self.tell("fail")

    def page(self, data: bytes) -> str:
        return " ".join(str(self.halves.setdefault(data[i : i + HALF], len(self.halves))) for i in (0, HALF))


class Life:
    """A mount of two files, and the proof beside it."""

    def __init__(self, folder: Path) -> None:
        made(folder)
        self.folder, self.base, self.trace = folder, folder / "data/base", folder / "trace"
        self.inodes = {(self.base / name).stat().st_ino: n for n, name in enumerate(FILES)}
        self.proof, self.at, self.version = Proof(), 0, 1
        self.proof.tell("new " + " ".join(self.on_disk()))

    def on_disk(self) -> Iterator[str]:
        for name in FILES:
            data = (self.base / name).read_bytes()
            yield from (self.proof.page(data[i * PAGE : (i + 1) * PAGE]) for i in range(PAGES))

    def batch(self, area: bytes) -> str:
        """What the area holds, as the proof says it; "none"."""
        magic, _, size, pages, files, _ = HEADER.unpack_from(area)
        if magic == 0:
            return "none"
        entries = [ENTRY.unpack_from(area, HEADER.size + ENTRY.size * i) for i in range(pages)]
        names = area[HEADER.size + ENTRY.size * pages : size].split(b"\0")[:files]
        said = []
        for i, (number, file, _) in enumerate(entries):
            key = FILES.index(names[file].decode().removeprefix("base/")) * PAGES + number
            said.append(f"{key} {self.proof.page(area[size + i * PAGE : size + (i + 1) * PAGE])}")
        return " ".join(said)

    def records(self) -> Iterator[tuple[str, str, int, int, bytes]]:
        """New ones: w or s, how it came, inode, offset, bytes."""
        with self.trace.open("rb") as file:
            file.seek(self.at)
            while head := file.read(RECORD.size):
                ino, at, size, what, came = RECORD.unpack(head)
                yield what.decode(), came.decode(), ino, at, file.read(size)
            self.at = file.tell()

    def follow(self) -> None:
        """Each call since is the proof's next one; for files that are neither pages nor area (a README) it has none."""
        area = (self.folder / "data" / AREA).stat().st_ino
        for what, came, ino, at, data in self.records():
            if ino != area and ino not in self.inodes:
                continue
            if ino in self.inodes:
                self.in_place(what, came, self.inodes[ino] * PAGES + at // PAGE, data)
            elif what == "w":
                self.to_area(came, data)
            elif self.proof.next != "empty":  # an area is synced before it is emptied, too: that changes nothing
                self.proof.does("sync area", came)

    def to_area(self, came: str, data: bytes) -> None:
        batch = self.batch(data)
        if batch == "none":
            self.proof.does("empty", came)
            return
        if self.proof.next == "idle":
            self.proof.tell("back " + " ".join(batch.split()[::3]))
        self.proof.does(f"area {batch}", came)

    def in_place(self, what: str, came: str, key: int, data: bytes) -> None:
        if self.proof.next == "pending":
            self.proof.tell("back")
        if what == "s":
            file, ends = key // PAGES, self.proof.next == "idle"  # the end of an fsync: the file's size
            while self.proof.next in [f"sync {file * PAGES + i}" for i in range(PAGES)]:
                ends = True
                self.proof.does(self.proof.next, came)
                if came != "g":
                    break
            assert ends, f"a sync of file {file}, and to come was {self.proof.next}"
            return
        whole = len(data) // PAGE if came == "g" else 0 if came == "f" else len(data) // PAGE // 2
        for i in range(len(data) // PAGE):
            page = self.proof.page(data[i * PAGE : (i + 1) * PAGE])
            self.proof.does(f"place {key + i} {page}", "g" if i < whole else came)
            if i >= whole:
                return

    def write(self, mount: Mount, file: int, page: int) -> None:
        self.version += 1
        data = contents(self.version, page)
        fd = os.open(mount.point / "base" / FILES[file], os.O_RDWR)
        try:
            os.pwrite(fd, data, page * PAGE)
            self.proof.tell(f"write {file * PAGES + page} {self.proof.page(data)}")
        finally:
            os.close(fd)

    def fsync(self, mount: Mount, file: int) -> None:
        keys = range(file * PAGES, (file + 1) * PAGES)
        versions = [self.proof.ask(f"newest {key}") for key in keys]
        fd = os.open(mount.point / "base" / FILES[file], os.O_RDWR)
        failed = None
        try:
            os.fsync(fd)
        except OSError as error:
            failed = error
        with suppress(OSError):
            os.close(fd)
        self.follow()
        if failed is None:
            for key, version in zip(keys, versions, strict=True):
                self.proof.tell(f"fsynced {key} {version}")

    def after(self, *, loses: bool) -> None:
        """The program has ended. What the next one finds is what kernel and device may have left."""
        self.follow()
        path = self.folder / "data" / AREA
        area = path.read_bytes() if path.exists() else bytes(PAGE)
        batch = self.batch(area) if self.is_whole(area) else "none"
        if loses:
            self.proof.tell(f"loss {batch} / " + " ".join(self.on_disk()))
        else:
            self.proof.tell("kill")
            self.proof.tell(f"area {batch}")
        self.proof.tell("start")

    def is_whole(self, area: bytes) -> bool:
        """All of a batch that was written is there: its bytes are in the trace. Its checksums are not looked at."""
        _, _, size, pages, _, _ = HEADER.unpack_from(area)
        batch, ino = area[: size + pages * PAGE], (self.folder / "data" / AREA).stat().st_ino
        at, self.at = self.at, 0
        found = any(what == "w" and of == ino and data == batch for what, _, of, _, data in list(self.records()))
        self.at = at
        return found and pages > 0

    def mounted(self, **more: object) -> Mount:
        named = {f"CRASH_{name.upper()}": str(value) for name, value in {"trace": self.trace, **more}.items()}
        return Mount(self.folder / "data", self.folder / "mnt", environment={"LD_PRELOAD": str(CRASH), **named})


def live(life: Life, mount: Mount, seed: int) -> bool:
    """Writes and syncs at random. Whether the mount was there until the end."""
    some = random.Random(seed)
    try:
        for _ in range(60):
            if some.random() < 0.75:
                life.write(mount, some.randrange(2), some.choice((0, 1, 2, 3, 6)))
            else:
                life.fsync(mount, some.randrange(2))
        return os.access(mount.point / "base", os.F_OK)
    except OSError:
        return False


def calls_of_a_start(folder: Path) -> int:
    made(folder)
    log = folder / "log"
    with Mount(folder / "data", folder / "mnt", environment={"LD_PRELOAD": str(CRASH), "CRASH_LOG": str(log)}) as mount:
        calls = int(log.read_text())
        mount.end()
    return calls


@pytest.mark.parametrize("kind", ["fails", "kill", "loss"])
def test_the_mount_runs_as_proved(tmp_path: Path, kind: str) -> None:
    """A call fails, and the life goes on; or the program is killed in it; or the power fails. It ends with a kill."""
    first = calls_of_a_start(tmp_path / "start")
    for n in range(1, 25):
        life = Life(tmp_path / str(n))
        one: dict[str, object] = {"fails": first + n} if kind == "fails" else {"at": first + n, "seed": n}
        if kind == "kill":
            one["left"] = life.folder / "left"
        with life.mounted(**one) as mount:
            life.at = life.trace.stat().st_size  # up to here it made an area
            lives = live(life, mount, n)
            assert lives == (kind == "fails")
            if lives:
                mount.end(signal.SIGKILL)
            mount.wait()
        life.after(loses=kind == "loss")
        with life.mounted() as mount:
            life.follow()
            assert life.proof.next == "idle"
            for key in range(2 * PAGES):
                data = (mount.point / "base" / FILES[key // PAGES]).read_bytes()[key % PAGES * PAGE :][:PAGE]
                assert life.proof.page(data) == life.proof.ask(f"read {key}"), f"page {key} after call {n}"
            mount.end(signal.SIGKILL)
            mount.wait()
