# SPDX-License-Identifier: PostgreSQL
"""What the engine knows of a change, whatever made it, and of one that it has tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

# refused: the compiler, SANY or Coq takes it for no program. equivalent: it changes nothing, or what another has
# changed already. Neither counts as tried. killed: something tells. counts only: no property of a model does, but the
# number of its states. survived: nothing tells. skipped: what could tell cannot run here.
Verdict = Literal["refused", "equivalent", "killed", "counts only", "survived", "skipped"]
NO_CHANGE = ("refused", "equivalent")


@dataclass(frozen=True)
class Change:
    """What becomes of a piece of a file."""

    file: str
    """From the top, as in "csrc/S/scalar.c"."""
    edits: tuple[tuple[int, int, str], ...]
    """Offsets in its text, and what stands there after."""
    name: str
    """Unique in its stem and layer. It does not depend on what stands elsewhere in the file."""
    says: str
    """For people."""
    rank: str
    """Its place in the order in which changes are tried, a checksum: a larger sample holds the smaller ones."""
    killers: tuple[str, ...] = ()
    """By hand: each of these must tell. Otherwise one of the layer's must."""

    def text(self) -> str:
        """The file's text with the change made."""
        text = Path(self.file).read_text()
        for begin, end, new in sorted(self.edits, reverse=True):
            text = text[:begin] + new + text[end:]
        return text


@dataclass(frozen=True)
class Tried:
    """A change, and what told it."""

    change: Change
    verdict: Verdict
    by: str = ""
    """What tells it."""
    reason: str = ""
    """Why it was skipped; of a change by hand, which killer does not tell."""
    seconds: float = 0.0

    @classmethod
    def of(cls, change: Change, by: str, skipped: str = "") -> Self:
        """What tells it, if anything does, and why what could tell it was not asked."""
        return cls(change, "killed" if by else "skipped" if skipped else "survived", by, "" if by else skipped)


class Killer(Protocol):
    """A command that may tell a change."""

    def tell(self, change: Change) -> tuple[str, str]:
        """What tells the change, empty if nothing does; and why it cannot be asked here, empty if it can."""


class Row(Protocol):
    """A stem in a layer: the source of its changes, and what tries one."""

    @property
    def stem(self) -> str: ...

    def changes(self) -> Sequence[Change]:
        """All that there are, of the same files the same."""

    def reads(self) -> Sequence[str]:
        """Files and folders that decide what becomes of a change: while they stay, it is not tried again."""

    def prepare(self, change: Change) -> tuple[Verdict | None, bytes]:
        """Whether it is one: refused, equivalent, or None. And what a change has that does the same, if that is known.
        Changes are prepared in their order, and of two that do the same the second is no change."""

    def attempt(self, change: Change) -> Tried:
        """Try a change that was prepared: the quickest killer first, until one tells."""
