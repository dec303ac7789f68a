# SPDX-License-Identifier: PostgreSQL
"""What proofs/STEM/contracts.toml lists: functions whose contracts are proved, and changes that must stop a proof."""

from proofs.ctext.listing import Listed


class Proof(Listed):
    """One run of WP, on some functions of one C file.

    `reduce` takes out of the file what Frama-C cannot read, or replaces it by its like.
    """

    source: str
    """A file of csrc/."""
    functions: list[str]
    """Their bodies are proved to keep their contracts. What they call and is not listed is taken at its contract."""
    goals: int
    """How many there are to prove, as Frama-C 25 counts them; other versions may count in another way."""
    split: bool = False
    """Each branch that leads to a goal makes a goal of its own."""
    steps: int = 200_000
    """Of the prover on each goal. Steps, since a busy machine changes no verdict."""
