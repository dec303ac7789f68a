# SPDX-License-Identifier: PostgreSQL
"""What a tool that proves C text says, or why it says nothing."""

from dataclasses import dataclass


class ToolMissingError(Exception):
    """The tool is not installed, or too old, and nobody named one; says where it is to be had."""


class ToolBrokenError(Exception):
    """What was named as the tool, or an input to it, does not work; says what to do."""


class UndecidedError(Exception):
    """The clock ended the tool, so that there is no verdict."""


@dataclass(frozen=True)
class Checked:
    """What the tool said of C text."""

    count: int
    """How many checks it made, or goals it had."""
    failed: list[str]
    """What it says of each that it refuted, or could not prove."""
    fault: str = ""
    """Why nothing is proved though none failed, as where nothing is claimed."""
