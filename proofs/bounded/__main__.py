# SPDX-License-Identifier: PostgreSQL
"""Proves the C text of kernels for every input up to a bound, by CBMC; and refutes changed kernels by the same proofs.

proofs/STEM/bounded.toml lists the proofs. Each has a harness in proofs/STEM/bounded/: it takes any input, calls the C
code, and claims what must hold. CBMC also checks what C leaves undefined, and that no loop goes beyond the bound. A
change of C that no check refutes is a failure. Without CBMC all are reported as skipped.
"""

from pathlib import Path

from proofs.bounded import cbmc
from proofs.bounded.listing import Proof
from proofs.ctext import runner
from proofs.ctext.outcome import Checked

SOURCE = Path("proofs")


class Bounded:
    """CBMC, and its lists."""

    layer, listing, kind, counts = "prove-c", "proofs/{stem}/bounded.toml", Proof, "checks"

    def find(self) -> dict[str, str]:
        return {"CBMC": cbmc.find()[1]}

    def check(self, stem: str, proof: Proof, csrc: Path, must_fail: str) -> Checked:
        files = [SOURCE / stem / "bounded" / proof.harness, *(csrc / file for file in proof.source)]
        defines = [f"{name}={value}" for name, value in proof.define.items()]
        return cbmc.check(files, [csrc, SOURCE / "bounded"], defines, proof.unwind, proof.loops, proof.machine)


if __name__ == "__main__":
    runner.command(Bounded(), __doc__)()
