# SPDX-License-Identifier: PostgreSQL
"""What proofs/STEM/bounded.toml lists: bounded proofs, and for each the changes of C that it must refute."""

from pydantic import Field

from proofs.ctext.listing import Listed


class Proof(Listed):
    """One run of CBMC, on proofs/STEM/bounded/`harness` and the C files in `source`.

    `reduce` makes constants of the kernel smaller, so that a small input reaches all of its branches.
    """

    harness: str
    source: list[str] = Field(default_factory=list)
    """Files of csrc/; none if the harness includes them."""
    define: dict[str, str | int] = Field(default_factory=dict)
    unwind: int
    """How often each loop is unrolled. CBMC proves that no loop goes further."""
    loops: dict[str, int] = Field(default_factory=dict)
    """The same of single loops, by CBMC's names of them: where fewer rounds are enough, and each costs much."""
    machine: str = ""
    """Whose C it is, by CBMC's name of the machine, if it is another one than this."""
