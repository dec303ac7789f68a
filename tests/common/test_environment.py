# SPDX-License-Identifier: PostgreSQL
"""How the CPU is named in results, on machines that are not at hand: by what their /proc/cpuinfo says."""

import platform
from pathlib import Path

import pytest

from tools.common import environment

X86 = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8488C
flags\t\t: fpu sse2 avx avx2 avx512f avx512_vbmi2
"""
# Recorded from qemu-aarch64 10.0 -cpu neoverse-n1 (of the second processor all but two lines are cut). Linux leaves the
# model name out, but for a program of 32 bits.
EMULATED = """\
processor\t: 0
model name\t: ARMv8 Processor rev 1 (v8l)
BogoMIPS\t: 100.00
Features\t: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x4
CPU part\t: 0xd0c
CPU revision\t: 1

processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd0b
"""
WITHOUT_MODEL_NAME = "".join(line for line in EMULATED.splitlines(keepends=True) if "model name" not in line)
UNKNOWN = WITHOUT_MODEL_NAME.replace("0xd0c", "0xfff").replace("0x41", "0x61")
N1 = "Neoverse-N1 implementer 0x41 part 0xd0c variant 0x4 asimd"


@pytest.mark.parametrize(
    ("text", "words", "slug"),
    [
        (
            X86,
            "Intel(R) Xeon(R) Platinum 8488C family 6 model 143 avx2 avx512f avx512_vbmi2",
            "intel-r-xeon-r-platinum-8488c-family-6-model-143",
        ),
        (EMULATED, N1, "neoverse-n1-implementer-0x41-part-0xd0c-variant-0x4"),
        (WITHOUT_MODEL_NAME, N1, "neoverse-n1-implementer-0x41-part-0xd0c-variant-0x4"),
        (
            UNKNOWN,
            "ARM implementer 0x61 part 0xfff variant 0x4 asimd",
            "arm-implementer-0x61-part-0xfff-variant-0x4",
        ),
    ],
    ids=["x86", "emulated", "without a model name", "unknown"],
)
def test_the_cpu_is_named_by_its_cpuinfo(
    text: str, words: str, slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "cpuinfo")
    assert environment.cpu() == words
    assert environment.cpu_slug() == slug


def test_a_machine_without_cpuinfo_has_its_architecture_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert environment.cpu().startswith("riscv64")
    assert environment.cpu_slug().startswith("riscv64")
