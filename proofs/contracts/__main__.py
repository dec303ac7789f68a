# SPDX-License-Identifier: PostgreSQL
"""Proves the contracts beside C code, for every length, by Frama-C's WP; and sees that changes of C stop a proof.

proofs/STEM/contracts.toml lists the functions. WP also proves that nothing which C leaves undefined is done. A change
of C with which all is proved is a failure. Without Frama-C all are reported as skipped.
"""

from pathlib import Path

from proofs.contracts import wp
from proofs.contracts.listing import Proof
from proofs.ctext import runner
from proofs.ctext.outcome import Checked


class Contracts:
    """WP, and its lists."""

    layer, listing, kind, counts = "prove-contracts", "proofs/{stem}/contracts.toml", Proof, "goals"

    def find(self) -> dict[str, str]:
        return {"WP": wp.find().says}

    def check(self, stem: str, proof: Proof, csrc: Path, must_fail: str) -> Checked:
        tool = wp.find()
        goals = proof.goals if tool.major == wp.KNOWN and not must_fail else None
        source = csrc / proof.source
        return wp.check(tool, source, csrc, proof.functions, proof.steps, goals, split=proof.split, goal=must_fail)


if __name__ == "__main__":
    runner.command(Contracts(), __doc__)()
